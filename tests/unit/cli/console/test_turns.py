"""Pods that find no room at their turn."""

from __future__ import annotations

from typing import Any

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.turns import Turns
from berth_cli.explanation.rules import Rules
from tests.unit.cli.console.cases import node, pod, snapshot

FULL = BerthConfiguration.model_validate({"profile": "full"})


def test_continued_run_finds_the_pod_that_took_the_last_place_of_each_pending_pod() -> None:
    rules, state = Rules(FULL), snapshot([node("n1")])
    wide: dict[str, Any] = {"requests": {"cpu": "2"}}
    order = [pod(name, priority=priority, **wide) for name, priority in (("a", 9), ("b", 8), ("c", 7), ("d", 6))]

    turns, calls = Turns(order, state, rules), iter((False, False, True))
    assert not turns.take(lambda: next(calls))
    assert [each.name for each in order if each.uid in turns.takers] == ["a", "b"]
    assert turns.take(lambda: False)
    found = {each.name: taker and taker.name for each in order for taker in [turns.takers[each.uid]]}
    assert found == {"a": None, "b": None, "c": "b", "d": "b"}
