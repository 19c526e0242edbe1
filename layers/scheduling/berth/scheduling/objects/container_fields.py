"""Which fields of a container scheduling needs."""

from __future__ import annotations

from berth.scheduling.objects.picking import picked
from berth.scheduling.objects.reading import Object
from berth.scheduling.objects.resources import is_extended

_PORT = ("hostIP", "hostPort", "protocol")


def kept_container(obj: Object, placed: bool) -> Object:
    """Name, requests and host ports; the image where the pod is still to be placed."""
    found = picked(obj, ("name", "restartPolicy") if placed else ("name", "restartPolicy", "image"))
    if (resources := obj.get("resources")) is not None:
        found["resources"] = kept_requests(resources)
    if (ports := obj.get("ports")) is not None:
        found["ports"] = _kept_ports(ports)
    return {name: value for name, value in found.items() if value not in ({}, [])}


def kept_requests(resources: object) -> object:
    """Of a container or of a whole pod. With the limits of extended resources where there is no request: the API server
    makes them requests."""
    if not isinstance(resources, dict):
        return resources
    kept = picked(resources, ("requests",))
    requests, limits = kept.get("requests", {}), resources.get("limits")
    if isinstance(requests, dict) and isinstance(limits, dict):
        missing = {
            name: amount
            for name, amount in limits.items()
            if name not in requests and isinstance(name, str) and is_extended(name)
        }
        if missing:
            kept["requests"] = requests | missing
    return kept


def _kept_ports(ports: object) -> object:
    if not isinstance(ports, list):
        return ports
    return [
        picked(port, _PORT) if isinstance(port, dict) else port
        for port in ports
        if not isinstance(port, dict) or port.get("hostPort")
    ]
