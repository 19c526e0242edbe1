"""NodePorts: a port of a node can be taken once."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.node_ports import NodePorts
from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
from tests.unit.scheduling.plugins.asking import verdict

TAKEN = Status(Code.UNSCHEDULABLE, ("node(s) didn't have free ports for the requested pod ports",), "NodePorts")

plugin = NodePorts(NoArgs())

Port = dict[str, Any]


def port(number: int = 80, ip: str = "", protocol: str = "TCP") -> Port:
    return {"containerPort": 80, "hostPort": number, "hostIP": ip, "protocol": protocol}


def with_ports(name: str, *ports: Port, **spec: Any) -> dict[str, Any]:
    return pod_with(name, containers=[container() | {"ports": list(ports)}], **spec)


@pytest.mark.parametrize(
    ("wanted_port", "taken", "wanted"),
    [
        pytest.param(port(), port(), TAKEN, id="the same port"),
        pytest.param(port(80), port(81), SUCCESS, id="another port"),
        pytest.param(port(protocol="TCP"), port(protocol="UDP"), SUCCESS, id="another protocol"),
        pytest.param(port(protocol=""), port(protocol="TCP"), TAKEN, id="TCP by default"),
        pytest.param(port(ip="10.0.0.1"), port(ip="10.0.0.2"), SUCCESS, id="another address"),
        pytest.param(port(ip="10.0.0.1"), port(ip="10.0.0.1"), TAKEN, id="the same address"),
        pytest.param(port(ip="10.0.0.1"), port(ip="0.0.0.0"), TAKEN, id="all addresses are taken"),
        pytest.param(port(ip="10.0.0.1"), port(ip=""), TAKEN, id="all addresses by default"),
        pytest.param(port(ip="0.0.0.0"), port(ip="10.0.0.1"), TAKEN, id="all addresses are wanted"),
        pytest.param(port(ip="::"), port(ip="10.0.0.1"), SUCCESS, id=":: is treated as a single address"),
        pytest.param(port(ip="::"), port(ip="0.0.0.0"), TAKEN, id=":: is included in all addresses"),
        pytest.param(port(0), port(0), SUCCESS, id="a container port without a host port is ignored"),
    ],
)
def test_node_is_rejected_if_a_wanted_host_port_is_used(wanted_port: Port, taken: Port, wanted: Status) -> None:
    other = with_ports("other", taken, nodeName="n")
    assert verdict(plugin, with_ports("p", wanted_port), node_with("n"), other) == wanted
