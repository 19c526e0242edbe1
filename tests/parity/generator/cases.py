"""Complete cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.parity.generator.args import Args, args, wants_workloads
from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Family, Feature, features_of
from tests.parity.generator.labels import NAMESPACE_LABELS, NAMESPACES, labels
from tests.parity.generator.nodes import nodes
from tests.parity.generator.pods import Setting, nominated, pending, placed
from tests.parity.generator.preemption import prepare_preemption, rely_on_a_nominated_pod
from tests.parity.generator.priorities import disruption_budgets, priority_classes
from tests.parity.generator.workloads import workloads

Case = dict[str, Any]

MOST_PODS = 25
MOST_PODS_ON_A_NODE = 10
"""Go's sort keeps the order of equal elements in slices of up to twelve; the comparison relies on this order."""


def cases(seed: int, family: Family, count: int, first: int = 0) -> Iterator[Case]:
    """Yield the cases of a family; a number always gives the same case, for any count."""
    return (case(seed, family, number) for number in range(first, first + count))


def case(seed: int, family: Family, number: int) -> Case:
    draw = Draw(f"{seed}/{family}/{number}")
    features = features_of(draw, family)
    node_count = draw.weighted({2: 3, 3: 4, 4: 4, 5: 2, 6: 1, 7: 1, 8: 1})
    cluster_nodes = nodes(draw, features, node_count)
    setting = Setting(family, features, [node["metadata"]["name"] for node in cluster_nodes])

    pod = pending(draw, setting)
    others = _pods(draw, setting, pod, cluster_nodes)
    objects = [*cluster_nodes, *_namespaces(draw), *others]
    if Feature.PRIORITIES in features:
        objects.extend(priority_classes())
    if Feature.DISRUPTION_BUDGETS in features:
        objects.extend(disruption_budgets(draw, others))
    chosen: Args = args(draw) if Feature.ARGS in features else {}
    if wants_workloads(chosen):
        if draw.chance(0.7):
            pod["spec"].pop("topologySpreadConstraints", None)
        objects.extend(workloads(draw, pod))
    return {"objects": objects, "pod": pod, "profile": "full", "args": chosen}


def _pods(draw: Draw, setting: Setting, pod: Case, cluster_nodes: list[Case]) -> list[Case]:
    crowded = Feature.FULL_NODES in setting.features
    pods: list[Case] = []
    share = max(2, MOST_PODS // len(setting.node_names))
    for node_name in setting.node_names:
        least = min(share, draw.between(2, 5)) if crowded else 0
        for _ in range(max(least, draw.between(0, draw.one_of((2, 4, min(share, MOST_PODS_ON_A_NODE)))))):
            pods.append(placed(draw, setting, f"p{len(pods)}", node_name))
    if setting.family is Family.PREEMPTION:
        prepare_preemption(draw, cluster_nodes, pod, pods)
    if draw.chance(0.1):
        pods.append(placed(draw, setting, "stray", "gone"))
    if Feature.NOMINATED in setting.features:
        waiting = [nominated(draw, setting, f"nominated{index}") for index in range(draw.between(0, 3))]
        if waiting and setting.family is Family.PREEMPTION and draw.chance(0.1):
            rely_on_a_nominated_pod(draw, pod, waiting)
        pods.extend(waiting)
    return draw.shuffled(pods)


def _namespaces(draw: Draw) -> list[Case]:
    """Return all namespaces; rarely one is missing, as if it were not known yet."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "uid": f"uid-namespace-{name}", "labels": labels(draw, NAMESPACE_LABELS)},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        for name in NAMESPACES
        if not draw.chance(0.03)
    ]
