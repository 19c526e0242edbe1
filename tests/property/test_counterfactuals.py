"""Counterfactuals on clusters of up to three nodes, beside all single changes of the vocabulary: none that places the
pod is missed, each that is shown places it, and none contains a smaller one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, apply_all
from berth_cli.explain.counterfactuals.proposals import ANSWERS
from berth_cli.explain.counterfactuals.search import Counterfactual, SearchEnd, search
from berth_cli.explain.rules import Rules
from berth_cli.explain.target import read_target
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import container, pod_with

GPU = "nvidia.com/gpu"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APP = {"matchLabels": {"app": "s"}}
HOST, ZONE = "kubernetes.io/hostname", "zone"
TAINTS = [
    {"key": "dedicated", "value": "ml", "effect": "NoSchedule"},
    {"key": "spot", "value": "", "effect": "NoExecute"},
]
NOT_READY = {"key": "node.kubernetes.io/not-ready", "value": "", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}

HELD = {ReasonCode.INSUFFICIENT_RESOURCE, ReasonCode.TOO_MANY_PODS, ReasonCode.HOST_PORT_TAKEN}

Objects = list[dict[str, Any]]

nodes = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.integers(1, 4),
            "gpu": st.integers(0, 2),
            "places": st.integers(1, 3),
            "zone": st.sampled_from(["", "a", "b"]),
            "disk": st.sampled_from(["", "hdd", "ssd"]),
            "priority": st.sampled_from(["", "high", "1", "2"]),
            "taints": st.sets(st.integers(0, 1)),
            "state": st.sampled_from(["ready", "ready", "cordoned", "not ready"]),
        }
    ),
    min_size=1,
    max_size=3,
)
others = st.lists(
    st.fixed_dictionaries(
        {
            "node": st.integers(0, 2),
            "cpu": st.integers(0, 2),
            "gpu": st.integers(0, 1),
            "app": st.booleans(),
            "port": st.booleans(),
            "away": st.sampled_from(["", HOST, ZONE]),
            "daemon": st.booleans(),
        }
    ),
    max_size=4,
)
pods = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 5),
        "gpu": st.integers(0, 2),
        "port": st.booleans(),
        "selector": st.booleans(),
        "zones": st.sampled_from([(), (), ("a",), ("a", "b"), ("c",)]),
        "not": st.booleans(),
        "near": st.sampled_from(["", "", HOST, ZONE]),
        "away": st.sampled_from(["", "", HOST, ZONE]),
        "skew": st.integers(0, 2),
        "tolerates": st.booleans(),
    }
)
PROFILES = ("full", "label-priority", "resource-segregation")


def node_of(index: int, drawn: Mapping[str, Any]) -> dict[str, Any]:
    labels = {"zone": drawn["zone"], "disk": drawn["disk"], PRIORITY: drawn["priority"]}
    taints = [TAINTS[number] for number in sorted(drawn["taints"])]
    taints += {"cordoned": [CORDON], "not ready": [NOT_READY]}.get(drawn["state"], [])
    allocatable = {"cpu": str(drawn["cpu"]), "pods": str(drawn["places"])}
    allocatable |= {GPU: str(drawn["gpu"])} if drawn["gpu"] else {}
    return node_with(
        f"n{index}",
        {key: value for key, value in labels.items() if value},
        taints=taints,
        unschedulable=drawn["state"] == "cordoned",
        allocatable=allocatable,
        status={"conditions": [{"type": "Ready", "status": "False"}]} if drawn["state"] == "not ready" else None,
    )


def requests_of(drawn: Mapping[str, Any]) -> dict[str, str]:
    found = {"cpu": drawn["cpu"], GPU: drawn["gpu"]}
    return {name: str(amount) for name, amount in found.items() if amount}


def terms(field: str, key: str) -> dict[str, Any]:
    return {field: {REQUIRED: [{"labelSelector": APP, "topologyKey": key}]}} if key else {}


def containers(drawn: Mapping[str, Any]) -> Objects:
    ports = {"ports": [{"hostPort": 80, "containerPort": 80}]} if drawn["port"] else {}
    return [{**container(**requests_of(drawn)), **ports}]


def other(index: int, drawn: Mapping[str, Any], count: int) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    return pod_with(
        f"w{index}",
        {"app": "s"} if drawn["app"] else {},
        nodeName=f"n{drawn['node'] % count}",
        containers=containers(drawn),
        affinity=terms("podAntiAffinity", drawn["away"]),
        metadata={"ownerReferences": [owner]} if drawn["daemon"] else {},
    )


def incoming(drawn: Mapping[str, Any]) -> dict[str, Any]:
    expressions = [{"key": "zone", "operator": "In", "values": list(drawn["zones"])}] if drawn["zones"] else []
    expressions += [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}] if drawn["not"] else []
    required = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}
    affinity = {
        **(required if expressions else {}),
        **terms("podAffinity", drawn["near"]),
        **terms("podAntiAffinity", drawn["away"]),
    }
    spec: dict[str, Any] = {"containers": containers(drawn), "affinity": affinity}
    if drawn["selector"]:
        spec["nodeSelector"] = {"disk": "ssd"}
    if drawn["skew"]:
        spread = {"topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}
        spec["topologySpreadConstraints"] = [{"maxSkew": drawn["skew"], **spread}]
    if drawn["tolerates"]:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return pod_with("p", {"app": "s"}, **spec)


@dataclass(frozen=True)
class Single:
    """One change of the vocabulary, made to the objects. about: what tells changes of one kind apart; amount: of a
    request that is lowered."""

    kind: ChangeKind
    about: str
    objects: Objects
    amount: int = 0


def singles(objects: Objects) -> Iterator[Single]:
    """All single changes, whatever the reasons are."""
    for at, obj in enumerate(objects[:-1]):
        yield from _of_node(objects, at) if obj["kind"] == "Node" else _of_other(objects, at)
    yield from _of_pod(objects)


def changed(objects: Objects, at: int) -> tuple[Objects, dict[str, Any]]:
    copied = deepcopy(objects)
    return copied, copied[at]


def _of_node(objects: Objects, at: int) -> Iterator[Single]:
    labels = objects[at]["metadata"]["labels"]
    wanted = [(PRIORITY, "1")]
    # What a label of a node says stays so.
    wanted += [("disk", "ssd")] if "nodeSelector" in objects[-1]["spec"] and "disk" not in labels else []
    wanted += [("zone", value) for value in _zones(objects[-1]) if "zone" not in labels]
    for key, value in wanted:
        copied, node = changed(objects, at)
        node["metadata"]["labels"][key] = value
        yield Single(ChangeKind.LABEL_NODE, key, copied)
    copied, node = changed(objects, at)
    node["spec"]["unschedulable"] = False
    node["spec"]["taints"] = [each for each in node["spec"]["taints"] if each != CORDON]
    yield Single(ChangeKind.UNCORDON_NODE, "", copied)
    copied, node = changed(objects, at)
    node["metadata"]["name"] = node["metadata"]["labels"][HOST] = "new"
    node["spec"] = {"taints": [each for each in node["spec"]["taints"] if each not in (CORDON, NOT_READY)]}
    node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    copies = [deepcopy(each) for each in objects if _is_daemon(each, objects[at]["metadata"]["name"])]
    for copy in copies:
        copy["metadata"] |= {"name": f"{copy['metadata']['name']}-new", "uid": f"{copy['metadata']['uid']}-new"}
        copy["spec"]["nodeName"] = "new"
    yield Single(ChangeKind.ADD_NODE, "", [objects[at], *copies, *copied])


def _zones(pod: Mapping[str, Any]) -> Sequence[str]:
    required = pod["spec"]["affinity"].get("nodeAffinity", {}).get(REQUIRED, {"nodeSelectorTerms": []})
    expressions = [each for term in required["nodeSelectorTerms"] for each in term["matchExpressions"]]
    return [value for each in expressions if each["key"] == "zone" for value in each["values"]]


def _is_daemon(obj: Mapping[str, Any], node: str) -> bool:
    return obj["kind"] == "Pod" and bool(obj["metadata"].get("ownerReferences")) and obj["spec"]["nodeName"] == node


def _of_other(objects: Objects, at: int) -> Iterator[Single]:
    """Nobody ends the pods that the pod wants to be near, so that it becomes the first of them. about: their node."""
    is_wanted = "podAffinity" in objects[-1]["spec"]["affinity"] and objects[at]["metadata"]["labels"]
    if not objects[at]["metadata"].get("ownerReferences") and not is_wanted:
        yield Single(ChangeKind.END_PODS, objects[at]["spec"]["nodeName"], [*objects[:at], *objects[at + 1 :]])


def _of_pod(objects: Objects) -> Iterator[Single]:
    spec = objects[-1]["spec"]
    requests = spec["containers"][0]["resources"]["requests"]
    for name, amount in requests.items():
        for lower in range(1, int(amount)):
            copied, pod = changed(objects, -1)
            pod["spec"]["containers"][0]["resources"]["requests"][name] = str(lower)
            yield Single(ChangeKind.LOWER_REQUEST, name, copied, lower)
    for taint in TAINTS:
        copied, pod = changed(objects, -1)
        added = {"key": taint["key"], "value": taint["value"], "effect": taint["effect"]}
        pod["spec"].setdefault("tolerations", []).append(added)
        yield Single(ChangeKind.ADD_TOLERATION, taint["key"], copied)
    copied, pod = changed(objects, -1)
    if pod["spec"].pop("nodeSelector", None):
        yield Single(ChangeKind.REMOVE_NODE_SELECTOR, "disk", copied)
    for field, kind, about in (
        ("nodeAffinity", ChangeKind.REMOVE_NODE_SELECTOR, "nodeAffinity"),
        ("podAffinity", ChangeKind.REMOVE_POD_AFFINITY, "podAffinity 0"),
        ("podAntiAffinity", ChangeKind.REMOVE_POD_AFFINITY, "podAntiAffinity 0"),
    ):
        copied, pod = changed(objects, -1)
        if pod["spec"]["affinity"].pop(field, None):
            yield Single(kind, about, copied)
    for number in range(len(spec.get("topologySpreadConstraints", ()))):
        copied, pod = changed(objects, -1)
        pod["spec"]["topologySpreadConstraints"][number]["whenUnsatisfiable"] = "ScheduleAnyway"
        yield Single(ChangeKind.SOFTEN_SPREAD, "", copied)


def case_of(objects: Objects, configuration: BerthConfiguration) -> Case:
    return read_target(deepcopy(objects), "there", "default/p", configuration.counting).case


def fits(case: Case, configuration: BerthConfiguration) -> bool:
    return bool(Rules(configuration).fitting(case.pod, list(case.snapshot.nodes), case.snapshot))


def is_shown(single: Single, results: Sequence[Counterfactual]) -> bool:
    """Whether this change is shown, or the same of another node or size."""
    alone = [each.changes[0] for each in results if len(each.changes) == 1]
    return any(_is_like(single, change) for change in alone if change.kind is single.kind)


def _is_like(single: Single, change: Change) -> bool:
    match single.kind:
        case ChangeKind.ADD_TOLERATION:
            return change.subject.startswith(single.about)
        case ChangeKind.LABEL_NODE | ChangeKind.REMOVE_NODE_SELECTOR | ChangeKind.REMOVE_POD_AFFINITY:
            return change.subject == single.about
        case ChangeKind.LOWER_REQUEST:
            return change.subject == single.about and int(str(change.details["to"])) >= single.amount
        case _:
            return True


NODE = {
    "cpu": 1,
    "gpu": 0,
    "places": 1,
    "zone": "",
    "disk": "",
    "priority": "1",
    "taints": frozenset[int](),
    "state": "ready",
}
OTHER = {"node": 0, "cpu": 0, "gpu": 0, "app": False, "port": False, "away": "", "daemon": False}
POD = {
    "cpu": 0,
    "gpu": 0,
    "port": False,
    "selector": False,
    "zones": (),
    "not": False,
    "near": "",
    "away": "",
    "skew": 0,
    "tolerates": False,
}


@pytest.mark.parametrize("profile", PROFILES)
# One label answers two reasons.
@example(drawn_nodes=[NODE], drawn_others=[], drawn_pod={**POD, "zones": ("a",), "skew": 1})
# The second zone that the pod names is the one that fits.
@example(
    drawn_nodes=[{**NODE, "zone": "a"}, NODE],
    drawn_others=[{**OTHER, "away": ZONE}],
    drawn_pod={**POD, "zones": ("a", "b")},
)
# One of two changes that place the pod on a node places it on another one.
@example(
    drawn_nodes=[{**NODE, "state": "cordoned"}, NODE],
    drawn_others=[{**OTHER, "app": True}],
    drawn_pod={**POD, "near": HOST},
)
@pytest.mark.long
@settings(max_examples=60)
@given(drawn_nodes=nodes, drawn_others=others, drawn_pod=pods)
def test_no_single_change_that_places_the_pod_is_missed(
    profile: str,
    drawn_nodes: Sequence[Mapping[str, Any]],
    drawn_others: Sequence[Mapping[str, Any]],
    drawn_pod: Mapping[str, Any],
) -> None:
    configuration = BerthConfiguration.model_validate({"profile": profile})
    objects = [node_of(index, each) for index, each in enumerate(drawn_nodes)]
    objects += [other(index, each, len(drawn_nodes)) for index, each in enumerate(drawn_others)]
    objects.append(incoming(drawn_pod))
    case = case_of(objects, configuration)
    assume(not fits(case, configuration))
    result = search(case, Rules(configuration), lambda: False)
    for each in result.found:
        after = apply_all(each.changes, case)
        assert after is not None
        assert set(each.fits) <= set(
            Rules(configuration).fitting(after.pod, list(after.snapshot.nodes), after.snapshot)
        )
        for count in range(1, len(each.changes)):
            for fewer in combinations(each.changes, count):
                less = apply_all(fewer, case)
                assert less is None or not fits(less, configuration), [change.text for change in each.changes]
    if result.end is SearchEnd.RESULTS:
        return
    failing = Rules(configuration).failing(case.pod, case.snapshot)
    codes = {name: {code for each in statuses for code in each.reason_codes} for name, statuses in failing.items()}
    for single in singles(objects):
        if single.kind is ChangeKind.END_PODS and (
            HELD.isdisjoint(codes[single.about]) or not ANSWERS.keys() >= codes[single.about]
        ):
            continue
        if not is_shown(single, result.found) and fits(case_of(single.objects, configuration), configuration):
            shown = [[change.text for change in each.changes] for each in result.found]
            raise AssertionError(f"{single.kind} {single.about} {single.amount} is not among {shown}")
