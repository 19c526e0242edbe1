"""Warnings about data that a simulation ignores: unknown fields, volumes, claims, and kinds missing in the dump."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.placement.warnings import dump_warnings, eviction_warnings, pod_warnings

ALL = Counter(["Namespace", "PriorityClass", "Service"])
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "controller": True}]}
LABELLED = {"labels": {"app": "web"}}


def warnings(spec: dict[str, Any], kinds: Counter[str] = ALL, **metadata: object) -> list[str]:
    return list(pod_warnings({"kind": "Pod", "metadata": metadata, "spec": spec}, kinds))


def test_warning_names_its_pods() -> None:
    spec: dict[str, Any] = {"volumes": [{"persistentVolumeClaim": {}}]}
    pods: list[dict[str, Any]] = [{"kind": "Pod", "metadata": {"name": name}, "spec": spec} for name in "abcd"]
    text = "spec.volumes[].persistentVolumeClaim: volumes are not checked; the scheduler may reject more nodes"
    assert dump_warnings(pods, GangsConfiguration()) == [f"{text} (default/a, default/b, default/c and 1 more)"]


@pytest.mark.parametrize(
    ("spec", "warning"),
    [
        pytest.param(
            {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
            "spec.volumes[].persistentVolumeClaim: volumes are not checked",
            id="a volume",
        ),
        pytest.param({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims: claims are not checked", id="claim"),
    ],
)
def test_warns_about_fields_that_the_simulation_does_not_read(spec: dict[str, Any], warning: str) -> None:
    [found] = warnings(spec)
    assert found.startswith(warning)


@pytest.mark.parametrize(
    ("spec", "metadata", "warning"),
    [
        pytest.param({"priorityClassName": "urgent"}, {}, "spec.priorityClassName: the dump has no Pri", id="classes"),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaceSelector": {}}]}
                }
            },
            {},
            "namespaceSelector: the dump has no Namespaces",
            id="namespaces",
        ),
        pytest.param({}, OWNED, "the default spread needs Service, ", id="owners"),
        pytest.param({}, LABELLED, "the default spread needs Service, and", id="labels that a Service may select"),
    ],
)
def test_warns_about_kinds_missing_in_the_dump(spec: dict[str, Any], metadata: dict[str, Any], warning: str) -> None:
    [found] = warnings(spec, Counter(), **metadata)
    assert found.startswith(warning)
    assert "kubectl get nodes,pods,ns,pdb,pc" in found
    assert warnings(spec, ALL, **metadata) == []


@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        pytest.param({"schedulingGroup": {"podGroupName": "train"}}, {}, id="by its spec"),
        pytest.param({}, {"scheduling.x-k8s.io/pod-group": "train"}, id="by a label"),
    ],
)
@pytest.mark.parametrize(
    ("gangs", "kinds", "warns"),
    [
        pytest.param(True, ALL, True, id="the dump has no such objects"),
        pytest.param(True, ALL + Counter({"PodGroup": 1}), False, id="the dump has some"),
        pytest.param(False, ALL, False, id="the policy has no gangs"),
    ],
)
def test_warns_about_pod_groups_if_the_policy_has_gangs(
    spec: dict[str, Any], labels: dict[str, str], gangs: bool, kinds: Counter[str], warns: bool
) -> None:
    pod: dict[str, object] = {"kind": "Pod", "metadata": {"labels": labels}, "spec": spec}
    found = list(pod_warnings(pod, kinds, GangsConfiguration(enabled=gangs)))
    assert ["the dump has no PodGroups" in each for each in found] == ([True] if warns else [])


@pytest.mark.parametrize(
    ("evicted", "budgets", "warns"),
    [
        pytest.param(2, [], True, id="evictions without budgets"),
        pytest.param(2, ["a budget"], False, id="evictions with budgets"),
        pytest.param(0, [], False, id="no eviction"),
    ],
)
def test_warns_about_disruption_budgets_if_pods_were_evicted(evicted: int, budgets: list[str], warns: bool) -> None:
    found = list(eviction_warnings(evicted, budgets))
    assert ["the dump has no PodDisruptionBudgets" in each for each in found] == ([True] if warns else [])
