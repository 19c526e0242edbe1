"""The record of a decision: reasons in groups, a bit for each node, and scores by plugin while the snapshot exists."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import orjson
import pytest

from berth.decisions.document import document, with_every_node
from berth.decisions.record import MAX_UNKNOWN, Record
from berth.extender.outcomes import FilterOutcome
from berth.extender.ports import UNREAD_CACHE, CacheState
from berth.extender.reply import Decision
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.feasibility import Exemption
from berth.scheduling.framework.plugin import FilterPlugin, Status, unresolvable
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.policy import Policy
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.parts import NODES_ONLY
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.nodes import PRIORITY, labelled, node
from tests.builders.pods import pod, pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs

NOW = 1_800_000_000.0
NODES = [labelled("n0", "3"), node("n1"), labelled("n2", "x"), node("n3"), labelled("n4", "7")]
NAMES = [each.name for each in NODES]


def recorded(verb: str, names: Sequence[str] = NAMES, **configuration: Any) -> tuple[Record, Verbs]:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs(NODES, configuration=BerthConfiguration.model_validate(configuration), recorder=recent)
    verbs.ask(verb, cache_mode(names))
    [record] = recent.all()
    return record, verbs


def test_groups_rejected_nodes_by_reason_with_one_bit_per_node() -> None:
    record, _ = recorded("filter", [*NAMES, "unknown"])
    assert [(each.code, bin(each.bitmap), each.count) for each in record.rejected()] == [
        (ReasonCode.PRIORITY_LABEL_MISSING, "0b1010", 2),
        (ReasonCode.NODE_NOT_IN_CACHE, "0b100000", 1),
        (ReasonCode.PRIORITY_LABEL_NOT_INTEGER, "0b100", 1),
    ]
    assert (record.nodes, record.feasible) == (6, 2)


def test_record_contains_names_of_nodes_unknown_to_the_cache() -> None:
    record, _ = recorded("filter", ["new-1", *NAMES, "new-2"])
    assert record.names() == ["new-1", *NAMES, "new-2"]
    [group] = [each for each in document(record, record.names())["reasons"] if each["code"] == "NodeNotInCache"]  # type: ignore[attr-defined]
    assert group["nodes"] == ["new-1", "new-2"]


def test_records_that_share_positions_have_their_own_unknown_names() -> None:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs(NODES, recorder=recent)
    for name in ("new-1", "new-2"):
        verbs.ask("filter", cache_mode([*NAMES, name]))
    first, second = recent.all()
    assert first.positions is second.positions
    assert (first.names()[-1], second.names()[-1]) == ("new-1", "new-2")


def test_number_and_length_of_unknown_node_names_are_bounded() -> None:
    record, _ = recorded("filter", ["x" * 300, *(f"new-{number}" for number in range(MAX_UNKNOWN))])
    assert record.unknown == ("x" * 253, *(f"new-{number}" for number in range(MAX_UNKNOWN - 1)))
    assert record.names()[-1] == ""


def test_record_does_not_store_names_of_nodes_known_to_the_cache() -> None:
    record, _ = recorded("filter")
    strings = [each for field in record for each in (field if isinstance(field, list | tuple) else [field])]
    assert not set(NAMES).intersection(each for each in strings if isinstance(each, str))


MANY = [f"ip-10-0-{number // 250}-{number % 250}.eu-central-1.compute.internal" for number in range(5000)]
LONG = "no GPU of the wanted kind " * 100


class Wordy(FilterPlugin[Pod]):
    """A custom plugin with a long reason for each node."""

    name = "Wordy"
    reads = NODES_ONLY

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return unresolvable(self.name, f"{node.name}: {LONG}")

    def shape(self, pod: Pod) -> Hashable:
        return ()


@pytest.mark.parametrize(
    ("filters", "with_nodes", "most_bytes"),
    [
        pytest.param(None, False, 1_000, id="Berth's reasons"),
        pytest.param(None, True, 300_000, id="Berth's reasons and every node"),
        pytest.param((Wordy(),), False, 70_000, id="a long reason for each node"),
    ],
)
def test_record_of_5000_nodes_is_small(filters: tuple[Wordy] | None, with_nodes: bool, most_bytes: int) -> None:
    configuration = BerthConfiguration()
    profile = configuration.policy().profile if filters is None else Profile("own", filters, ())
    snapshot = Snapshot.of([node(name) for name in MANY])
    refs = NodeRefs.of(MANY, snapshot.positions)
    policy = Policy(profile, Exemption())
    found = policy.feasibility(pod(), refs, snapshot)
    decision = Decision(pod(), refs, policy, snapshot, UNREAD_CACHE, found.verdicts)
    record = Record.of("filter", FilterOutcome.NONE_FEASIBLE, decision, NOW, 1.0)
    made = with_every_node(record) if with_nodes else document(record, record.names())
    assert len(orjson.dumps(made)) < most_bytes


@pytest.mark.parametrize(
    ("names", "best"),
    [
        pytest.param(NAMES, [("n4", 7), ("n0", 3)], id="without the rejected nodes"),
        pytest.param(["n0", "n4"], [("n4", 7), ("n0", 3)], id="every node passes"),
        pytest.param(["n1"], [], id="no node passes"),
    ],
)
def test_filter_onlyone_records_the_scores_of_its_choice(names: Sequence[str], best: list[tuple[str, int]]) -> None:
    record, _ = recorded("filter_onlyone", names)
    assert [(each.node, each.score) for each in record.best()] == best
    assert all(each.by_plugin == {"NodePriorityLabel": each.score} for each in record.best())


def test_prioritize_records_the_best_nodes_with_scores_by_plugin() -> None:
    record, verbs = recorded("prioritize", ["n0", "n4", "n1"])
    assert verbs.cache is not None
    assert [(each.node, each.score, each.by_plugin) for each in record.best()] == [
        ("n4", 7, {"NodePriorityLabel": 7}),
        ("n0", 3, {"NodePriorityLabel": 3}),
        ("n1", 0, None),
    ]


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param([5] * 30, id="all equal: the first by name"),
        pytest.param([*range(30)], id="all different"),
        pytest.param([9, *[5] * 20, *[1] * 9, 9], id="equal scores at the end of the best"),
        pytest.param([3, 2, 1], id="fewer nodes than the maximum"),
    ],
)
def test_best_nodes_are_sorted_by_descending_score_then_name(labels: list[int]) -> None:
    recent, names = RecentDecisions(lambda: NOW), [f"n{index * 7 % len(labels):02}" for index in range(len(labels))]
    verbs = Verbs([labelled(name, str(label)) for name, label in zip(names, labels, strict=True)], recorder=recent)
    verbs.ask("prioritize", cache_mode(names))
    [record] = recent.all()
    found = [(each.node, each.score) for each in record.best()]
    assert found == sorted(zip(names, labels, strict=True), key=lambda each: (-each[1], each[0]))[:10]


def test_scores_by_plugin_are_unavailable_after_the_snapshot_is_gone() -> None:
    record, _ = recorded("prioritize", ["n0", "n4"])
    gone = record._replace(snapshot=lambda: None)  # type: ignore[arg-type]
    assert [(each.node, each.score, each.by_plugin) for each in gone.best()] == [("n4", 7, None), ("n0", 3, None)]


@pytest.mark.parametrize("value", ["300", "-5"])
def test_records_scores_that_do_not_fit_into_a_byte(value: str) -> None:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs([labelled("a", value)], recorder=recent)
    verbs.ask("prioritize", cache_mode(["a"]))
    [record] = recent.all()
    assert list(record.scores) == [int(value)]


def test_record_of_an_exempt_pod_does_not_have_verdicts() -> None:
    record, _ = recorded("filter", exempt={"namespaces": ["ml"]})
    assert (record.outcome, record.feasible, record.rejected()) == ("exempt", None, [])


def test_document_contains_the_snapshot_and_policy_versions_used() -> None:
    record, _ = recorded("filter")
    found = document(record, record.names())
    assert {key: found[key] for key in ("version", "reasonCodesVersion", "time", "verb", "outcome", "profile")} == {
        "version": 1,
        "reasonCodesVersion": 1,
        "time": NOW,
        "verb": "filter",
        "outcome": "feasible",
        "profile": "label-priority",
    }
    assert (found["namespace"], found["name"]) == ("ml", "train-0")
    cache = CacheState(version=7, observed_at=NOW - 2.5, configuration_hash="a1")
    later = document(record._replace(cache=cache, milliseconds=1.2504, at=NOW + 0.0004), record.names())
    assert later["time"] == NOW
    keys = ("configurationHash", "cacheVersion", "cacheAgeSeconds", "milliseconds")
    assert [later[key] for key in keys] == ["a1", 7, 2.5, 1.25]
    assert found["cacheVersion"] == 1
    assert found["reasons"] == [
        {
            "code": "PriorityLabelMissing",
            "reason": f"node(s) didn't have the priority label {PRIORITY}",
            "plugin": "NodePriorityLabel",
            "count": 2,
            "nodes": ["n1", "n3"],
        },
        {
            "code": "PriorityLabelNotInteger",
            "reason": "node(s) had a priority label priority.lixueduan.com that is not an integer",
            "plugin": "NodePriorityLabel",
            "count": 1,
            "nodes": ["n2"],
        },
    ]


def test_full_mode_is_recorded_with_the_nodes_of_the_request() -> None:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs([], recorder=recent)
    items = [{"metadata": {"name": "a", "labels": {PRIORITY: "1"}}}, {"metadata": {"name": "b"}}]
    verbs.ask("filter", {"Pod": pod_object(), "Nodes": {"items": items}, "NodeNames": None})
    [record] = recent.all()
    assert (record.names(), record.feasible) == (["a", "b"], 1)


@pytest.mark.parametrize(
    ("verb", "names", "node_name", "is_judged"),
    [
        pytest.param("filter", NAMES, "n0", True, id="passes"),
        pytest.param("filter", NAMES, "n3", True, id="rejected"),
        pytest.param("prioritize", NAMES, "n3", True, id="has a score"),
        pytest.param("filter_onlyone", NAMES, "n0", True, id="not chosen"),
        pytest.param("filter", NAMES[:3], "n4", False, id="not in the request"),
        pytest.param("filter", [*NAMES, "new-1"], "new-1", True, id="unknown to the cache"),
        pytest.param("filter", [*NAMES, "new-1"], "new-2", False, id="no node"),
        pytest.param("filter", [*NAMES, "new-1"], "", False, id="no name"),
    ],
)
def test_reports_whether_a_node_was_evaluated(verb: str, names: Sequence[str], node_name: str, is_judged: bool) -> None:
    record, _ = recorded(verb, names)
    assert record.judges(node_name) is is_judged


def test_record_uses_the_node_names_of_its_own_snapshot() -> None:
    """A new node takes the position of a deleted node."""
    record, _ = recorded("filter")
    later = record.source.after(["n3"], ["n9"])
    assert later["n9"] == record.source["n3"]
    assert (record.judges("n3"), record.judges("n9")) == (True, False)
