"""The decisions as documents and as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import orjson
import pytest

from berth_cli.console.decisions.documents import decision_details, decision_events, decisions_of_node
from berth_cli.console.decisions.source import MOST_AT_ONCE, DecisionSource
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.health.calls import Call
from berth_cli.console.http.access import Refusal


class Scripted(DecisionSource):
    """answers: of one look after the other; the last one stays. asked: the numbers after which it was asked."""

    def __init__(self, *answers: Sequence[int] | NotRead) -> None:
        self._answers = list(answers)
        self.asked: list[int] = []

    def after(self, number: int) -> Sequence[Mapping[str, object]] | NotRead:
        self.asked.append(number)
        found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return found if isinstance(found, NotRead) else [{"number": each} for each in found]

    def details(self, number: int) -> Mapping[str, object] | None:
        return {"number": number} if number == 1 else None

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, object]]:
        return []

    def of_node(self, node: str) -> Sequence[int] | NotRead:
        return NotRead("the server is away") if node == "away" else [1, 3] if node == "n1" else []

    def calls(self) -> Sequence[Call]:
        return []


def events(source: Scripted, count: int, idle_seconds: float = 60.0) -> list[tuple[str, object]]:
    """The first ones of the stream. A comment has an empty name."""

    async def first() -> list[tuple[str, object]]:
        found: list[tuple[str, object]] = []
        stream = decision_events(source, 0, lambda: len(found) == count, look_seconds=0, idle_seconds=idle_seconds)
        async for event in stream:
            name, _, data = event.decode().removesuffix("\n\n").partition("\n")
            if not data:
                found.append(("", name))
            else:
                found.append((name.removeprefix("event: "), orjson.loads(data.removeprefix("data: "))))
        return found

    return asyncio.run(asyncio.wait_for(first(), 20))


def test_stream_begins_with_what_is_kept_and_goes_on_with_what_comes() -> None:
    source = Scripted([], [1, 2], [], [3])
    assert events(source, 3) == [
        ("decisions", []),
        ("decisions", [{"number": 1}, {"number": 2}]),
        ("decisions", [{"number": 3}]),
    ]
    assert source.asked == [0, 0, 2, 2]


def test_stream_says_once_why_there_are_none_and_when_they_are_back() -> None:
    away = NotRead("connection refused")
    assert events(Scripted([1], away, away, []), 3) == [
        ("decisions", [{"number": 1}]),
        ("problem", {"reason": "connection refused"}),
        ("decisions", []),
    ]


@pytest.mark.parametrize("quiet", [[], NotRead("connection refused")], ids=["nothing is decided", "nothing is read"])
def test_stream_is_never_silent(quiet: Sequence[int] | NotRead) -> None:
    """A page cannot know a quiet night from a console that has gone."""
    assert events(Scripted(quiet), 3, idle_seconds=0)[1:] == [("", ": idle"), ("", ": idle")]


def test_stream_asks_again_at_once_while_more_is_kept() -> None:
    """look_seconds would be longer than the test."""
    whole = range(1, MOST_AT_ONCE + 1)
    source = Scripted(whole, [MOST_AT_ONCE + 1], [])

    async def first() -> list[bytes]:
        found: list[bytes] = []
        async for event in decision_events(source, 0, lambda: len(found) == 2, look_seconds=3600):
            found.append(event)
            if len(found) == 2:
                break
        return found

    assert len(asyncio.run(asyncio.wait_for(first(), 20))) == 2
    assert source.asked == [0, MOST_AT_ONCE]


def test_details_are_those_of_the_number() -> None:
    assert decision_details(Scripted([]), {"number": "1"}) == b'{"number":1}'


@pytest.mark.parametrize("number", ["", "x", "-1", "0", "99", "9" * 30])
def test_details_of_a_decision_that_is_not_kept_are_refused(number: str) -> None:
    found = decision_details(Scripted([]), {"number": number})
    assert isinstance(found, Refusal)
    assert found.status == 404


HOSTILE = "<script>alert(1)</script>\x00\u2028'é"


@pytest.mark.parametrize(
    ("node", "numbers"),
    [
        pytest.param("n1", [1, 3], id="a node"),
        pytest.param("n2", [], id="a node of no decision"),
        pytest.param(HOSTILE, [], id="any text"),
        pytest.param("x" * 253, [], id="as long as a name may be"),
    ],
)
def test_decisions_of_a_node_are_those_that_judged_it(node: str, numbers: list[int]) -> None:
    found = decisions_of_node(Scripted([]), {"node": node})
    assert isinstance(found, bytes)
    assert orjson.loads(found) == {"node": node, "numbers": numbers}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        pytest.param({}, 400, id="no node"),
        pytest.param({"node": ""}, 400, id="an empty one"),
        pytest.param({"node": "x" * 254}, 400, id="longer than a name"),
        pytest.param({"node": "away"}, 503, id="not read"),
    ],
)
def test_decisions_of_what_cannot_be_asked_for_are_refused(query: Mapping[str, str], status: int) -> None:
    found = decisions_of_node(Scripted([]), query)
    assert isinstance(found, Refusal)
    assert (found.status, bool(found.reason)) == (status, True)
