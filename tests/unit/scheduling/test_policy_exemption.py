"""Which pods no policy may hold back."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from berth.scheduling.feasibility import Exemption
from berth.scheduling.objects import Pod, read_pod
from tests.builders.pods import pod, pod_object

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
        pytest.param(pod(priority=1_999_999_999), False, id="just below system-cluster-critical"),
        pytest.param(pod(priority=1_000_000_000), False, id="the highest priority of users"),
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


def without(change: str) -> dict[str, Any]:
    """A pod of a DaemonSet that lacks one thing that the DaemonSet controller sets."""
    obj: dict[str, Any] = deepcopy(pod_object(controller_kind="DaemonSet"))
    owner, spec = obj["metadata"]["ownerReferences"][0], obj["spec"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    term = required["nodeSelectorTerms"][0]
    match change:
        case "API group":
            owner["apiVersion"] = "example.com/v1"
        case "version":
            del owner["apiVersion"]
        case "control":
            owner["controller"] = False
        case "affinity":
            del spec["affinity"]
        case "one name":
            required["nodeSelectorTerms"].append(deepcopy(term))
            term["matchFields"][0]["values"] = ["node-2"]
        case "name":
            required["nodeSelectorTerms"] = [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
        case "toleration":
            del spec["tolerations"][-1]
        case _:
            raise AssertionError(change)
    return obj


@pytest.mark.parametrize("missing", ["API group", "version", "control", "affinity", "one name", "name", "toleration"])
def test_does_not_exempt_a_pod_that_the_daemon_set_controller_did_not_create(missing: str) -> None:
    found = read_pod(without(missing))
    assert isinstance(found, Pod)
    assert Exemption().covers(found) is False


def test_exempts_a_daemon_set_pod_that_tolerates_everything() -> None:
    obj: dict[str, Any] = deepcopy(pod_object(controller_kind="DaemonSet"))
    obj["spec"]["tolerations"] = [{"operator": "Exists"}]
    found = read_pod(obj)
    assert isinstance(found, Pod)
    assert Exemption().covers(found) is True
