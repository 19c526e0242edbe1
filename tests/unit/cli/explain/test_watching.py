"""`--watch`: again when it says something else, until the pod has a node or Ctrl-C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth_cli.explain.answer import Answer
from berth_cli.explain.watching import watch
from berth_cli.input_files import InvalidInput


def pending(reason: str = "cpu", attempts: Sequence[Mapping[str, Any]] = ()) -> Answer:
    return Answer([], {"verdict": "pending", "reasons": [reason], "attempts": list(attempts)}, 1)


def attempt(time: float, nodes: int = 3) -> Mapping[str, Any]:
    return {"time": time, "cacheAgeSeconds": time / 7, "nodes": nodes}


PLACED = Answer([], {"verdict": "placed"}, 0, is_final=True)


def watched(*answers: Answer | str) -> tuple[list[Answer | str], int]:
    """What is shown of these, and the status; Ctrl-C after the last one."""
    left, shown = list(answers), list[Answer | str]()

    def explain() -> Answer:
        if not left:
            raise KeyboardInterrupt
        found = left.pop(0)
        if isinstance(found, str):
            raise InvalidInput(found)
        return found

    status = watch(explain, shown.append, lambda: None)
    return shown, status


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        pytest.param([pending(), pending()], [0], id="the same once"),
        pytest.param([pending(), pending("memory")], [0, 1], id="another reason again"),
        pytest.param(
            [pending(attempts=[attempt(1)]), pending(attempts=[attempt(1), attempt(2)])],
            [0],
            id="another attempt that says the same",
        ),
        pytest.param(
            [pending(attempts=[attempt(1)]), pending(attempts=[attempt(1), attempt(2, nodes=4)])],
            [0, 1],
            id="another attempt that says something else",
        ),
        pytest.param([pending(), "no answer", "no answer", pending()], [0, 1, 3], id="a source that fails once"),
    ],
)
def test_shows_what_differs_from_what_was_shown(answers: list[Answer | str], shown: list[int]) -> None:
    found, _ = watched(*answers)
    assert found == [answers[index] for index in shown]


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        pytest.param([pending(), PLACED, pending()], 0, id="ends when the pod has a node"),
        pytest.param([pending()], 1, id="Ctrl-C while it is pending"),
        pytest.param(["no answer"], 2, id="Ctrl-C while nothing can be read"),
        pytest.param([], 1, id="Ctrl-C before the first explanation"),
    ],
)
def test_status_is_that_of_the_last_explanation(answers: list[Answer | str], status: int) -> None:
    assert watched(*answers)[1] == status
