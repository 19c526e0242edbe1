"""The decisions of the verbs, as pages follow them."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from berth.decisions.recent import RecentDecisions
from berth_cli.console.decisions import MOST_AT_ONCE, NumberedDecisions, decision_events
from berth_cli.console.http.access import Refusal
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs

NODES = [labelled("a", "10"), labelled("b", "20"), node("c")]


class Deciding:
    """Verbs that record. most: records that are kept."""

    def __init__(self, most: int = 1000) -> None:
        recent = RecentDecisions(lambda: 1.0, most_records=most)
        self._verbs = Verbs(NODES, recorder=recent)
        self.decisions = NumberedDecisions(recent)

    def decide(self, *pods: str, verb: str = "filter") -> None:
        for pod in pods:
            self._verbs.ask(verb, cache_mode(["a", "b", "c"], pod_object(pod)))

    def after(self, number: int) -> list[tuple[int, str]]:
        return [(found, record.pod.name) for found, record in self.decisions.after(number)]

    def details(self, number: str) -> dict[str, Any]:
        found = self.decisions.details({"number": number})
        assert isinstance(found, bytes)
        content: dict[str, Any] = orjson.loads(found)
        return content


def test_each_decision_has_its_number() -> None:
    deciding = Deciding()
    assert deciding.after(0) == []
    deciding.decide("p", "q")
    assert deciding.after(0) == [(1, "p"), (2, "q")]
    deciding.decide("r")
    assert deciding.after(2) == [(3, "r")]
    assert deciding.after(3) == []


def test_numbers_stay_when_old_decisions_are_dropped() -> None:
    deciding = Deciding(most=2)
    deciding.decide("p", "q")
    assert deciding.after(0) == [(1, "p"), (2, "q")]
    deciding.decide("r")
    assert deciding.after(0) == [(2, "q"), (3, "r")]
    deciding.decide("s", "t", "u")
    assert [name for _, name in deciding.after(3)] == ["t", "u"]


def test_page_that_is_far_behind_gets_the_newest() -> None:
    deciding = Deciding()
    deciding.decide(*(f"p{number}" for number in range(MOST_AT_ONCE + 5)))
    found = deciding.after(0)
    assert (len(found), found[-1][1]) == (MOST_AT_ONCE, f"p{MOST_AT_ONCE + 4}")


def test_details_have_every_node() -> None:
    deciding = Deciding()
    deciding.decide("p")
    deciding.decide("p", verb="prioritize")
    deciding.after(0)
    filtered, scored = deciding.details("1"), deciding.details("2")
    assert [(each["plugin"], each["nodes"]) for each in filtered["rejected"]] == [("NodePriorityLabel", ["c"])]
    assert {each["node"]: each["score"] for each in scored["scores"]}["b"] > 0


@pytest.mark.parametrize("number", ["", "x", "-1", "0", "99", "9" * 30])
def test_decision_that_is_not_kept_is_refused(number: str) -> None:
    deciding = Deciding()
    deciding.decide("p")
    deciding.after(0)
    found = deciding.decisions.details({"number": number})
    assert isinstance(found, Refusal)
    assert found.status == 404


def test_stream_begins_with_what_is_kept_and_goes_on_with_what_comes() -> None:
    deciding = Deciding()

    async def first_two() -> list[list[tuple[int, str]]]:
        found: list[list[tuple[int, str]]] = []
        async for event in decision_events(deciding.decisions, 0, lambda: len(found) == 2, look_seconds=0):
            name, data = event.decode().removesuffix("\n\n").split("\n")
            assert name == "event: decisions"
            content = orjson.loads(data.removeprefix("data: "))
            found.append([(each["number"], each["name"]) for each in content])
            deciding.decide(f"p{len(found)}")
        return found

    assert asyncio.run(first_two()) == [[], [(1, "p1")]]
