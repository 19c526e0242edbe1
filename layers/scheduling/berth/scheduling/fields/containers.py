"""What containers take of a node besides resources: host ports, and the images that may be there already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from berth.scheduling.fields.reading import Object, name_or_empty, read_integer, read_object, read_object_list

ALL_ADDRESSES = "0.0.0.0"  # noqa: S104  # a wildcard to compare with, nothing is bound to it
_TCP = "TCP"


class HostPort(NamedTuple):
    """A port of the node that a container takes for itself. `0.0.0.0` stands for all addresses."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class Images:
    """Image names, as a node lists them, of containers and init containers (`containers` of them) and of volumes."""

    names: tuple[str, ...] = ()
    containers: int = 0


NO_IMAGES = Images()


def read_host_ports(spec: Object) -> tuple[HostPort, ...]:
    """Of containers and of sidecars; other init containers are gone when the pod runs."""
    holders = [
        *read_object_list(spec.get("containers"), "Pod.spec.containers"),
        *(
            item
            for item in read_object_list(spec.get("initContainers"), "Pod.spec.initContainers")
            if item.get("restartPolicy") == "Always"
        ),
    ]
    found = []
    for holder in holders:
        for item in read_object_list(holder.get("ports"), "Pod.spec.containers[].ports"):
            port = read_integer(item.get("hostPort"), "Pod.spec.containers[].ports[].hostPort") or 0
            if port > 0:
                address, protocol = name_or_empty(item.get("hostIP")), name_or_empty(item.get("protocol"))
                found.append(HostPort(address or ALL_ADDRESSES, protocol or _TCP, port))
    return tuple(found)


def read_images(spec: Object) -> Images:
    """Names as a node lists them. Raises MalformedField."""
    containers = [
        _with_tag(name_or_empty(item.get("image")))
        for field in ("initContainers", "containers")
        for item in read_object_list(spec.get(field), f"Pod.spec.{field}")
    ]
    volumes = [
        _with_tag(name_or_empty(read_object(item["image"], "Pod.spec.volumes[].image").get("reference")))
        for item in read_object_list(spec.get("volumes"), "Pod.spec.volumes")
        if item.get("image") is not None
    ]
    return Images((*containers, *volumes), len(containers))


def _with_tag(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
