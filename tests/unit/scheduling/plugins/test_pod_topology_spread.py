"""PodTopologySpread: spreads pods evenly over zones and nodes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import scores, verdicts

Object = dict[str, Any]

SKEWED = Status(Code.UNSCHEDULABLE, ("node(s) didn't match pod topology spread constraints",), "PodTopologySpread")
NO_LABEL = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    "PodTopologySpread",
)

LETTERS = {"+": SUCCESS, "s": SKEWED, "x": NO_LABEL}
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"matchLabels": {"app": "web"}}
SSD = {"disk": "ssd"}


def plugin(**args: Any) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs.model_validate({"defaultingType": "List", **args}))


def constraint(key: str = ZONE, skew: int = 1, action: str = "DoNotSchedule", **fields: Any) -> Object:
    found = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": action, "labelSelector": WEB, **fields}
    return {name: value for name, value in found.items() if value is not None}


def pod(*constraints: Object, app: str = "web", **fields: Any) -> Object:
    return pod_with("p", {"app": app}, topologySpreadConstraints=list(constraints), **fields)


def on(*nodes: str, app: str = "web", **fields: Any) -> list[Object]:
    """Return pods of one app, one pod for each of these nodes."""
    return [pod_with(f"{app}-{at}-{name}", {"app": app}, nodeName=name, **fields) for at, name in enumerate(nodes)]


A, B, C = (
    node_with(name, {ZONE: zone, "disk": disk})
    for name, zone, disk in (("a", "1", "ssd"), ("b", "1", "hdd"), ("c", "2", "ssd"))
)
NO_ZONE = node_with("d", SSD)


@pytest.mark.parametrize(
    ("asking", "others", "wanted"),
    [
        pytest.param(pod(constraint()), [], "+++x", id="one pod in the first zone"),
        pytest.param(pod(constraint()), on("a"), "ss+x", id="one pod in each zone"),
        pytest.param(pod(constraint()), on("a", "c"), "+++x", id="balanced zones"),
        pytest.param(pod(constraint(skew=2)), on("a"), "+++x", id="maxSkew 2: by one"),
        pytest.param(pod(constraint(skew=2)), on("a", "b"), "ss+x", id="maxSkew 2: by 2"),
        pytest.param(pod(constraint(HOST)), on("a"), "s+++", id="over nodes"),
        pytest.param(pod(constraint(), constraint(HOST)), on("a"), "ss+x", id="every one"),
        pytest.param(
            pod(constraint(labelSelector={"matchLabels": {"app": "db"}}), constraint(HOST)),
            on("a"),
            "s++x",
            id="each by its own selector",
        ),
        pytest.param(
            pod(constraint(app="db"), app="db"), on("a"), "+++x", id="a pod that does not match its own selector"
        ),
        pytest.param(pod(constraint(), app="db"), on("a", "b"), "ss+x", id="one more pod"),
        pytest.param(pod(constraint(labelSelector={})), on("a", "b"), "+++x", id="{} counts no pods"),
        pytest.param(pod(constraint(labelSelector=None)), on("a", "b"), "+++x", id="no selector counts no pods"),
        pytest.param(
            pod(constraint(action="ScheduleAnyway")), on("a", "b"), "++++", id="ScheduleAnyway does not filter"
        ),
        pytest.param(pod(), on("a", "b"), "++++", id="no constraints"),
    ],
)
def test_node_is_rejected_if_the_skew_would_be_too_large(asking: Object, others: list[Object], wanted: str) -> None:
    """wanted: a letter of LETTERS for each node."""
    expected = {node: LETTERS[letter] for node, letter in zip("abcd", wanted, strict=True)}
    assert verdicts(plugin(), asking, A, B, C, NO_ZONE, *others) == expected


TAINTED = node_with("t", {ZONE: "3"}, taints=[{"key": "k", "effect": "NoSchedule"}])


@pytest.mark.parametrize(
    ("fields", "spec", "wanted"),
    [
        # Zone 2 does not have pods. If it counts, the skew of zone 1 with one pod is too large.
        pytest.param({}, {}, SKEWED, id="node affinity: none"),
        pytest.param({}, {"nodeSelector": {"kubernetes.io/hostname": "a"}}, SUCCESS, id="honoured by default"),
        pytest.param(
            {"nodeAffinityPolicy": "Ignore"}, {"nodeSelector": {"kubernetes.io/hostname": "a"}}, SKEWED, id="ignored"
        ),
    ],
)
def test_node_affinity_policy_decides_which_nodes_are_counted(fields: Object, spec: Object, wanted: Status) -> None:
    assert verdicts(plugin(), pod(constraint(**fields), **spec), A, C, *on("a"))["a"] == wanted


@pytest.mark.parametrize(
    ("fields", "spec", "wanted"),
    [
        # Zone 3 consists of the tainted node, and does not have pods.
        pytest.param({}, {}, SKEWED, id="ignored by default"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, {}, SUCCESS, id="honoured"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"},
            {"tolerations": [{"key": "k", "operator": "Exists"}]},
            SKEWED,
            id="a tolerated taint",
        ),
    ],
)
def test_node_taints_policy_decides_which_nodes_are_counted(fields: Object, spec: Object, wanted: Status) -> None:
    assert verdicts(plugin(), pod(constraint(**fields), **spec), A, TAINTED, *on("a"))["a"] == wanted


def test_node_excluded_from_counting_passes() -> None:
    honouring = pod(constraint(), nodeSelector={"kubernetes.io/hostname": "a"})
    assert verdicts(plugin(), honouring, A, C, *on("a", "c", "c"))["c"] == SUCCESS


@pytest.mark.parametrize(
    ("keys", "others", "wanted"),
    [
        pytest.param(["hash"], {"hash": "1"}, SKEWED, id="pods with the same value count"),
        pytest.param(["hash"], {"hash": "2"}, SUCCESS, id="pods with another value do not count"),
        pytest.param(["hash"], {}, SUCCESS, id="pods without the key do not count"),
        pytest.param(["absent"], {"hash": "2"}, SKEWED, id="a key missing on the pod is left out"),
        pytest.param(None, {"hash": "2"}, SKEWED, id="no keys"),
    ],
)
def test_match_label_keys_limit_counted_pods(keys: list[str] | None, others: dict[str, str], wanted: Status) -> None:
    asking = pod(constraint(matchLabelKeys=keys), metadata={"labels": {"app": "web", "hash": "1"}})
    other = pod_with("o", {"app": "web", **others}, nodeName="a")
    assert verdicts(plugin(), asking, A, C, other)["a"] == wanted


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        pytest.param(on("a"), SKEWED, id="running"),
        pytest.param(on("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), SUCCESS, id="terminating"),
        pytest.param(on("a", status={"phase": "Succeeded"}), SUCCESS, id="finished"),
        pytest.param(on("a", namespace="other"), SUCCESS, id="of another namespace"),
        pytest.param(on("a", app="db"), SUCCESS, id="not selected"),
        pytest.param(on("d"), SUCCESS, id="on a node without a zone"),
        pytest.param([pod_with("o", {"app": "web"}, status={"nominatedNodeName": "a"})], SKEWED, id="nominated"),
    ],
)
def test_counts_pods_by_namespace_and_labels(others: list[Object], wanted: Status) -> None:
    assert verdicts(plugin(), pod(constraint()), A, C, NO_ZONE, *others)["a"] == wanted


def test_counts_only_nodes_with_all_topology_keys() -> None:
    rack = node_with("r", {ZONE: "1", "rack": "1"})
    found = verdicts(plugin(), pod(constraint(), constraint("rack")), rack, A, C, *on("a", "c"))
    assert found == {"r": SUCCESS, "a": NO_LABEL, "c": NO_LABEL}


SERVICE = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
DEFAULTS = {"defaultConstraints": [{"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}


def owner(kind: str, api_version: str = "apps/v1") -> Object:
    return {"ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": "o", "controller": True}]}


def controller(kind: str, selector: Object) -> Object:
    return {"kind": kind, "metadata": {"name": "o", "namespace": "default"}, "spec": {"selector": selector}}


@pytest.mark.parametrize(
    ("asking", "workload", "wanted"),
    [
        pytest.param(pod(), SERVICE, SKEWED, id="a service selects the pod"),
        pytest.param(pod(app="db"), SERVICE, SUCCESS, id="a service selects others"),
        pytest.param(pod(metadata=owner("ReplicaSet")), controller("ReplicaSet", WEB), SKEWED, id="its replica set"),
        pytest.param(pod(constraint(HOST, 5)), SERVICE, SUCCESS, id="a pod with constraints of its own"),
        pytest.param(pod(constraint(HOST, 5, "ScheduleAnyway")), SERVICE, SUCCESS, id="of either constraint kind"),
    ],
)
def test_pods_without_own_constraints_get_default_constraints(asking: Object, workload: Object, wanted: Status) -> None:
    assert verdicts(plugin(**DEFAULTS), asking, A, C, workload, *on("a"))["a"] == wanted


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            {"defaultingType": "System", **DEFAULTS}, "defaultConstraints need defaultingType List", id="system"
        ),
        pytest.param(
            {"defaultConstraints": DEFAULTS["defaultConstraints"] * 2}, "has two of one topologyKey", id="twice"
        ),
    ],
)
def test_error_names_invalid_arguments_of_the_spread_plugin(args: Object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        plugin(**args)


def soft(key: str = ZONE, skew: int = 1, **fields: Any) -> Object:
    return constraint(key, skew, "ScheduleAnyway", **fields)


@pytest.mark.parametrize(
    ("asking", "others", "wanted"),
    [
        pytest.param(pod(soft()), on("a"), (0, 0, 100, 0), id="fewer pods in the zone are better"),
        pytest.param(pod(soft()), on("a", "b", "c"), (33, 33, 100, 0), id="in proportion"),
        pytest.param(pod(soft()), [], (100, 100, 100, 0), id="a node without a zone scores 0"),
        pytest.param(pod(soft(HOST)), on("a", "a", "b"), (0, 50, 100, 100), id="over nodes"),
        pytest.param(pod(soft(), soft(HOST)), on("a"), (0, 66, 100, 0), id="sum of constraints"),
        pytest.param(pod(soft(skew=5)), on("a"), (80, 80, 100, 0), id="a larger maxSkew reduces the effect"),
        pytest.param(pod(soft(labelSelector={})), on("a"), (100, 100, 100, 0), id="{} counts none"),
        pytest.param(pod(constraint(HOST, 9)), on("a"), (0, 0, 0, 0), id="DoNotSchedule: no score"),
    ],
)
def test_node_that_reduces_skew_scores_higher(asking: Object, others: list[Object], wanted: tuple[int, ...]) -> None:
    assert tuple(scores(plugin(), asking, A, B, C, NO_ZONE, *others).values()) == wanted


def test_system_defaults_accept_nodes_without_a_zone() -> None:
    system = PodTopologySpread(PodTopologySpreadArgs())
    assert tuple(scores(system, pod(), A, B, C, NO_ZONE, SERVICE, *on("a")).values()) == (22, 33, 55, 100)
    assert not any(scores(system, pod(), A, B, C, NO_ZONE, *on("a")).values())
