"""States of the plugins that read other pods: after each change of the cluster, they give the results of new states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from berth.scheduling.fields.requirements import FEW
from berth.scheduling.framework.plugin import Plugin
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.plugins.image_locality import ImageLocality
from berth.scheduling.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from berth.scheduling.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.objects import read_objects
from berth_testing.change_checks import Subject, check_with_pod
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB, DB = {"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "db"}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(selector: Any, key: str = ZONE, **fields: Any) -> Any:
    return {"labelSelector": selector, "topologyKey": key, **fields}


def soft(kind: str, selector: Any, weight: int) -> Any:
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": term(selector)}]}}


def spread(action: str, key: str = ZONE, **fields: Any) -> Any:
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": WEB, **fields}]


MANY = [term(WEB, HOST), *(term({"matchLabels": {f"pad-{number}": ""}}) for number in range(FEW))]
AFFINITY: list[Any] = [
    {"podAffinity": {REQUIRED: [term(WEB)]}},
    {"podAffinity": {REQUIRED: [term(WEB), term(DB, HOST)]}},
    {"podAntiAffinity": {REQUIRED: [*(term(WEB, key) for key in (HOST, "rack", "row")), term(DB)]}},
    {
        "podAntiAffinity": {REQUIRED: MANY},
        "podAffinity": {
            PREFERRED: [{"weight": weight, "podAffinityTerm": each} for weight, each in enumerate(MANY, 1)]
        },
    },
    {"podAffinity": {REQUIRED: [term(WEB, namespaceSelector={"matchLabels": {"team": "red"}})]}}
    | soft("podAntiAffinity", WEB, 7),
]
SPREADING: list[Any] = [
    spread("DoNotSchedule"),
    spread("DoNotSchedule", minDomains=3),
    spread("DoNotSchedule", HOST, nodeTaintsPolicy="Honor"),
    spread("ScheduleAnyway") + spread("ScheduleAnyway", HOST),
    spread("ScheduleAnyway", nodeAffinityPolicy="Ignore"),
]
NODES = [
    node_with(f"n{number}", {ZONE: f"z{number % 3}", HOST: f"n{number}"} if number < 5 else {HOST: f"n{number}"})
    for number in range(6)
]


def read(objects: list[Any]) -> list[Pod]:
    pods = [read_pod(each) for each in objects]
    assert all(isinstance(each, Pod) for each in pods)
    return [each for each in pods if isinstance(each, Pod)]


def subjects() -> Iterator[Any]:
    plugins: list[tuple[Callable[[], Plugin], list[Any]]] = [
        (lambda: InterPodAffinity(InterPodAffinityArgs()), [{"affinity": each} for each in AFFINITY]),
        (
            lambda: PodTopologySpread(PodTopologySpreadArgs()),
            [{"topologySpreadConstraints": each} for each in SPREADING],
        ),
        (ImageLocality, [{}]),
    ]
    for create, specs in plugins:
        for app in ("web", "db"):
            pods = read([pod_with(f"{app}-{number}", {"app": app}, **spec) for number, spec in enumerate(specs)])
            running = [pod_with(f"r{number}", {"app": app}, nodeName=f"n{number}") for number in range(2)]
            found = read_objects([*NODES, *running])
            snapshot = Snapshot.of(found.nodes, found.pods)
            yield pytest.param(Subject(create, create(), snapshot, pods), id=f"{create().name} for pods of {app}")


@pytest.mark.parametrize("subject", [*subjects()])
def test_updated_state_gives_the_verdicts_of_a_new_state_after_pods_come_and_go(subject: Subject) -> None:
    # As in kube-scheduler, a filter that skips a pod ignores added pods. So check only pods with required terms.
    required = 4 if isinstance(subject.plugin, InterPodAffinity) else 3
    assert [*check_with_pod(replace(subject, pods=subject.pods[:required]))] == []
