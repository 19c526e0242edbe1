"""docs/contributing/architecture.md: the way of a request, beside a trace of the real function."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from berth.nodecache.bounded_reads import BoundedReads
from tests.builders.requests import body_of, cache_mode
from tests.conftest import PROJECT
from tests.fakes.verbs import call

PAGE = PROJECT / "docs/contributing/architecture.md"
_ROOT = re.compile(r"^.*/(?=functions/\w+/app\.py$)|^.*/layers/scheduling/berth/")


def steps(way: str) -> list[str]:
    """The modules in the table below the paragraph that begins with the way's name."""
    table = PAGE.read_text().split(f"**{way}**", 1)[1].split("\n\n")[1]
    return [module for row in table.splitlines() for module in re.findall(r"`([\w/.]+\.py)`", row.split("|")[2])]


@contextmanager
def traced() -> Iterator[set[str]]:
    """The modules of Berth in which a function is called."""
    modules: set[str] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and _ROOT.match(file):
            modules.add(_ROOT.sub("", file))

    sys.setprofile(seen)
    try:
        yield modules
    finally:
        sys.setprofile(None)


@pytest.fixture(autouse=True)
def _reads_in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedReads, "before", lambda self, deadline, read: read())


@pytest.mark.parametrize(("profile", "most"), [("label-priority", 45), ("full", 55)])
def test_a_warm_filter_request_passes_every_step_of_the_page(
    profile: str, most: int, load_function: Callable[[str, Mapping[str, str]], Callable[..., Any]]
) -> None:
    document = f'{{"profile": "{profile}", "nodeCache": {{"maxStaleness": 86400}}}}'
    handler = load_function("filter", {"BERTH_CONFIGURATION": document})
    body = body_of(cache_mode(["n10", "n20"]))
    for _ in range(3):
        call(handler, body)
    with traced() as modules:
        answer = call(handler, body)
    assert answer.error == ""
    listed = steps("A warm filter request")
    assert len(listed) == 16  # two of them are one step
    assert set(listed) - modules == set()
    assert len(modules) <= most
