"""Docker for the containers of the functions: daemon, bridge address and image."""

from __future__ import annotations

import json
import subprocess
from ipaddress import ip_network

IMAGE = "berth-sam-local"


class DockerUnavailable(Exception):
    """The daemon or the image is missing. The message is one line."""


def bridge_address() -> str:
    """The address of this machine for containers only."""
    [bridge] = json.loads(_docker("network", "inspect", "bridge"))
    for config in bridge["IPAM"]["Config"]:
        network = ip_network(config["Subnet"])
        if network.version == 4:
            # Not every daemon reports the gateway; the default is the first address.
            return str(config.get("Gateway") or next(network.hosts()))
    raise DockerUnavailable("Docker's bridge network has no IPv4 address")


def image_for(base: str, endpoint_url: str) -> str:
    """The runtime image with AWS_ENDPOINT_URL: `sam local` passes only variables that the template declares."""
    _docker("build", "--quiet", "--tag", IMAGE, "-", stdin=f"FROM {base}\nENV AWS_ENDPOINT_URL={endpoint_url}\n")
    return IMAGE


def _docker(*arguments: str, stdin: str = "") -> str:
    try:
        done = subprocess.run(["docker", *arguments], input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise DockerUnavailable("the command docker is not installed") from error
    if done.returncode:
        cause = done.stderr.strip().splitlines()
        raise DockerUnavailable(cause[-1] if cause else f"docker {arguments[0]} failed")
    return done.stdout.strip()
