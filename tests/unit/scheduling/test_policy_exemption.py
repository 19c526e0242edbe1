"""Which pods no policy may hold back."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import Pod
from berth.scheduling.policy import Exemption
from tests.builders.pods import pod

NONE = Exemption(daemonSets=False, systemCritical=False, namespaces=frozenset())


@pytest.mark.parametrize(
    ("candidate", "exempt"),
    [
        pytest.param(pod(), False, id="an ordinary pod"),
        pytest.param(pod(namespace="kube-system"), True, id="in kube-system"),
        pytest.param(pod(namespace="kube-system-2"), False, id="in a namespace of a similar name"),
        pytest.param(pod(controller_kind="DaemonSet"), True, id="of a DaemonSet"),
        pytest.param(pod(controller_kind="ReplicaSet"), False, id="of a ReplicaSet"),
        pytest.param(pod(priority=2_000_000_000), True, id="system-cluster-critical"),
        pytest.param(pod(priority=2_000_001_000), True, id="system-node-critical"),
        pytest.param(pod(priority=1_999_999_999), False, id="just below"),
        pytest.param(pod(priority=1_000_000_000), False, id="the highest that users can give"),
        pytest.param(pod(priority=-1), False, id="below zero"),
    ],
)
def test_exempts_system_pods_by_default(candidate: Pod, exempt: bool) -> None:
    assert Exemption().covers(candidate) is exempt


@pytest.mark.parametrize(
    "candidate", [pod(namespace="kube-system"), pod(controller_kind="DaemonSet"), pod(priority=2_000_000_000)]
)
def test_each_exemption_can_be_disabled(candidate: Pod) -> None:
    assert NONE.covers(candidate) is False


def test_uses_namespaces_of_configuration() -> None:
    exemption = Exemption(namespaces=frozenset({"infra"}))
    assert exemption.covers(pod(namespace="infra")) is True
    assert exemption.covers(pod(namespace="kube-system")) is False
