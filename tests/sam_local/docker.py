"""What the functions' containers need of Docker: a daemon, an address on this machine, and an image that knows it."""

from __future__ import annotations

import json
import subprocess
from ipaddress import ip_network

IMAGE = "berth-sam-local"


class DockerUnavailable(Exception):
    """There is no daemon, or not the image. The message says so in one line."""


def bridge_address() -> str:
    """The address under which a container reaches this machine, and nothing outside of it does."""
    [bridge] = json.loads(_docker("network", "inspect", "bridge"))
    for config in bridge["IPAM"]["Config"]:
        network = ip_network(config["Subnet"])
        if network.version == 4:
            # Not every daemon names the gateway; where none was configured it is the first address.
            return str(config.get("Gateway") or next(network.hosts()))
    raise DockerUnavailable("Docker's bridge network has no IPv4 address")


def image_for(base: str, endpoint_url: str) -> str:
    """The runtime's image, told where AWS is: `sam local` passes on no variable that the template does not declare."""
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
