"""One decision of many becomes a document for the log."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from berth.runtime.decisions import SampledLog
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs


def sampled(written: list[dict[str, object]], one_of: int = 1, is_written: bool = True) -> SampledLog:
    return SampledLog(written.append, lambda: 5.0, one_of, lambda: is_written)


@pytest.mark.parametrize(
    ("one_of", "names"),
    [
        pytest.param(3, ["p1", "p4"], id="not the first decision"),
        pytest.param(1, [f"p{number}" for number in range(7)], id="every decision"),
    ],
)
def test_logs_the_second_decision_and_every_nth_after_it(one_of: int, names: Sequence[str]) -> None:
    written: list[dict[str, object]] = []
    verbs = Verbs([labelled("a", "1")], recorder=sampled(written, one_of))
    for number in range(7):
        verbs.ask("filter", cache_mode(["a"], pod_object(f"p{number}")))
    assert [each["name"] for each in written] == names


def test_does_not_build_a_document_if_the_log_is_disabled() -> None:
    written: list[dict[str, object]] = []
    verbs = Verbs([labelled("a", "1")], recorder=sampled(written, is_written=False))
    verbs.ask("filter", cache_mode(["a"]))
    assert written == []


def test_document_names_nodes_unknown_to_the_cache() -> None:
    written: list[dict[str, object]] = []
    verbs = Verbs([node("a")], recorder=sampled(written))
    verbs.ask("filter", cache_mode(["strange"]))
    [document] = written
    assert document["reasons"] == [
        {
            "code": "NodeNotInCache",
            "reason": "node(s) are not in the extender's cache yet",
            "plugin": "",
            "count": 1,
            "nodes": ["strange"],
        }
    ]
