"""Docker for the containers of the functions: daemon, bridge address and image."""

from __future__ import annotations

import json
from ipaddress import ip_network

from tests.deployment.docker import DockerUnavailable, docker

IMAGE = "berth-sam-local"


def bridge_address() -> str:
    """Return the address of this machine that only containers can reach."""
    [bridge] = json.loads(docker("network", "inspect", "bridge"))
    for config in bridge["IPAM"]["Config"]:
        network = ip_network(config["Subnet"])
        if network.version == 4:
            # Not every daemon reports the gateway; the default is the first address.
            return str(config.get("Gateway") or next(network.hosts()))
    raise DockerUnavailable("Docker's bridge network has no IPv4 address")


def image_for(base: str, endpoint_url: str) -> str:
    """Build the runtime image with AWS_ENDPOINT_URL: `sam local` passes only variables that the template declares."""
    docker("build", "--quiet", "--tag", IMAGE, "-", stdin=f"FROM {base}\nENV AWS_ENDPOINT_URL={endpoint_url}\n")
    return IMAGE
