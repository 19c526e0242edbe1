"""One decision of many becomes a document for the log."""

from __future__ import annotations

from berth.decisions.sampled_log import SampledLog
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs


def test_writes_the_first_decision_and_every_nth_after_it() -> None:
    written: list[dict[str, object]] = []
    verbs = Verbs([labelled("a", "1")], recorder=SampledLog(written.append, lambda: 5.0, one_of=3))
    for number in range(7):
        verbs.ask("filter", cache_mode(["a"], pod_object(f"p{number}")))
    assert [each["name"] for each in written] == ["p0", "p3", "p6"]


def test_names_nodes_that_the_cache_does_not_know() -> None:
    written: list[dict[str, object]] = []
    verbs = Verbs([node("a")], recorder=SampledLog(written.append, lambda: 5.0))
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
