"""The stream of changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson

from berth_cli.console.documents.feed import Feed
from berth_cli.console.http.stream import events
from tests.unit.cli.console.cases import NOW, HandDrivenSource, Running, node, running, snapshot


def parsed(event: bytes) -> tuple[str, dict[str, object]]:
    name, data, *rest = event.decode().split("\n")
    assert rest == ["", ""]
    return name.removeprefix("event: "), orjson.loads(data.removeprefix("data: "))


async def first(
    feed: Feed, since: int, count: int, between: Callable[[], None] = lambda: None
) -> list[tuple[str, dict[str, object]]]:
    """The first events; `between` is called after the first one."""
    found: list[tuple[str, dict[str, object]]] = []
    async for event in events(feed, since, lambda: NOW, lambda: len(found) >= count):
        found.append(parsed(event))
        if len(found) == 1:
            between()
    return found


def add_node(console: Running) -> None:
    console.source.shows(snapshot([node("n1"), node("n2")]))
    console.feed.observe(0)


def test_begins_with_the_condition() -> None:
    console = running()
    [(name, content)] = asyncio.run(first(console.feed, 1, 1))
    assert (name, content) == ("condition", console.feed.condition.document(NOW))


def test_sends_a_change_when_it_comes() -> None:
    console = running()
    found = asyncio.run(first(console.feed, 1, 2, lambda: add_node(console)))
    assert [(name, content["sequence"]) for name, content in found[:2]] == [("condition", 1), ("change", 2)]


def test_sends_what_a_page_has_missed() -> None:
    console = running()
    add_node(console)
    [(name, content), *_] = asyncio.run(first(console.feed, 1, 2))
    assert (name, content["sequence"]) == ("change", 2)


def test_tells_a_page_of_another_process_to_read_everything() -> None:
    assert asyncio.run(first(running().feed, 17, 5)) == [("reset", {})]


def test_ends_when_the_server_stops() -> None:
    source = HandDrivenSource(running().source.found)  # type: ignore[arg-type]
    feed = Feed(source, lambda: NOW)
    feed.observe(0)

    async def all_of_them() -> list[bytes]:
        return [event async for event in events(feed, 1, lambda: NOW, lambda: True)]

    assert asyncio.run(all_of_them()) == []
