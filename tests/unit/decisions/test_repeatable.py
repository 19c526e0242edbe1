"""What a decision needs to be made again: written with its record, in little room."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import orjson
import pytest

from berth.decisions.background import REPEATABLE, BackgroundRecorder
from berth.decisions.repeatable import MOST_UNKNOWN, RepeatableDecision, RepeatableEncoder, checksum_of, decoded
from berth.extender.decision import Decision
from berth.extender.ports import CacheState
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.verdicts import FilterResult, Rejected
from berth.scheduling.framework.status import Status, unschedulable
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod, pod_object
from tests.builders.requests import cache_mode, full_mode
from tests.fakes.verbs import Verbs

POLICY = BerthConfiguration().policy()
NODES = [labelled("fits", "1"), node("plain"), labelled("other", "2")]


def documents(verb: str, request: object) -> list[Mapping[str, object]]:
    found: list[Mapping[str, object]] = []
    encoder = RepeatableEncoder()
    recorder = BackgroundRecorder(found.append, lambda: 0.0, lambda _: None, repeatable=encoder.encoded)
    Verbs(NODES, recorder=recorder).ask(verb, request)
    recorder.close()
    return found


def repeatable(verb: str, *names: str) -> RepeatableDecision:
    [document] = documents(verb, cache_mode(names, pod_object("p")))
    data = document[REPEATABLE]
    assert isinstance(data, bytes)
    found = decoded(data)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("verb", "names", "values", "unknown"),
    [
        # The nodes in order: fits, other, plain.
        pytest.param("filter", ["plain", "fits"], [1, 0, 2], [], id="verdicts; other is not in the request"),
        pytest.param(
            "filter", ["z", "fits", "y"], [1, 0, 0, 2, 2], ["y", "z"], id="nodes that the state does not have"
        ),
        pytest.param("prioritize", ["other", "fits"], [2, 3, 0], [], id="scores, each plus 1"),
    ],
)
def test_has_a_number_for_each_node_of_the_state(
    verb: str, names: list[str], values: list[int], unknown: list[str]
) -> None:
    found = repeatable(verb, *names)
    numbers = [min(value, 2) if verb == "filter" else value for value in found.values]
    assert (numbers, found.unknown) == (values, unknown)
    assert found.checksum == checksum_of(["fits", "other", "plain"])


def decision(
    snapshot: Snapshot, names: list[str], scores: Sequence[int] | None = None, rejected: Sequence[Status] = ()
) -> Decision:
    """rejected: a status for each of the first nodes."""
    nodes = NodeRefs.of(names, snapshot.positions)
    verdicts = None
    if scores is None:
        mask = bytes(len(rejected)) + bytes((1,)) * (len(names) - len(rejected))
        verdicts = FilterResult(nodes, Rejected.of(dict(zip(names, rejected, strict=False))), mask)
    return Decision(pod(), nodes, POLICY, snapshot, CacheState(version=1), verdicts, scores)


def numbers(encoder: RepeatableEncoder, made: Decision) -> list[int]:
    data = encoder.encoded(made)
    assert data is not None
    found = decoded(data)
    assert found is not None
    assert found.checksum == checksum_of(sorted(made.snapshot.nodes))
    return list(found.values)


@pytest.mark.parametrize(
    ("scores", "values"),
    [
        pytest.param([0, 254, 7], [1, 255, 8], id="that fit into a byte"),
        pytest.param([0, 255, 7], [1, 256, 8], id="of a byte, plus 1"),
        pytest.param([0, 100_000, 7], [1, 100_001, 8], id="totals"),
    ],
)
def test_scores_of_any_size_are_read_again(scores: list[int], values: list[int]) -> None:
    snapshot = Snapshot.of(labelled(name, "1") for name in "abc")
    assert numbers(RepeatableEncoder(), decision(snapshot, ["a", "b", "c"], scores)) == values


@pytest.mark.parametrize("count", [253, 254, 255, 300])
def test_any_number_of_statuses_is_read_again(count: int) -> None:
    names = [f"n{number:03}" for number in range(count + 1)]
    statuses = [unschedulable("Plugin", f"reason {number}") for number in range(count)]
    snapshot = Snapshot.of(labelled(name, "1") for name in names)
    found = numbers(RepeatableEncoder(), decision(snapshot, names, rejected=statuses))
    assert found == [*range(2, count + 2), 1]


def test_follows_nodes_that_come_and_go() -> None:
    encoder, before = RepeatableEncoder(), Snapshot.of(labelled(name, "1") for name in "abd")
    assert numbers(encoder, decision(before, ["d", "a"], [5, 7])) == [8, 0, 6]
    after = before.with_changes(Changes(nodes=[labelled("c", "1")], nodes_gone=["a"]))
    assert numbers(encoder, decision(after, ["c", "b"], [5, 7])) == [8, 6, 0]
    assert numbers(encoder, decision(before, ["d", "a"], [5, 7])) == [8, 0, 6]


def test_a_rejection_names_code_plugin_and_message() -> None:
    found = repeatable("filter", "plain")
    assert found.statuses[found.values[2] - 2] == [
        "UnschedulableAndUnresolvable",
        "NodePriorityLabel",
        "node(s) didn't have the priority label priority.lixueduan.com",
    ]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(full_mode([{"metadata": {"name": "fits"}}]), id="full mode"),
        pytest.param(cache_mode([f"u{number}" for number in range(MOST_UNKNOWN + 1)]), id="too many unknown nodes"),
    ],
)
def test_what_cannot_be_made_again_has_a_record_alone(request_: object) -> None:
    [document] = documents("filter", request_)
    assert REPEATABLE not in document


def test_a_later_version_is_none() -> None:
    assert decoded(zlib.compress(orjson.dumps({"version": 2}) + b"\n")) is None


def test_what_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="header"):
        decoded(b"no data")


def test_without_an_encoder_there_is_none() -> None:
    found: list[Mapping[str, object]] = []
    recorder = BackgroundRecorder(found.append, lambda: 0.0, lambda _: None)
    Verbs(NODES, recorder=recorder).ask("filter", cache_mode(["fits"]))
    recorder.close()
    assert [REPEATABLE in each for each in found] == [False]
