"""What a decision needs to be made again: written with its record, in little room."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import orjson
import pytest

from berth.decisions.background import REPEATABLE, BackgroundRecorder
from berth.decisions.repeatable import MOST_UNKNOWN, RepeatableDecision, RepeatableEncoder, checksum_of, decoded
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode, full_mode
from tests.fakes.verbs import Verbs

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
