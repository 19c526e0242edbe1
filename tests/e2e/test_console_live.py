"""Views of `berth serve --console` that need a cluster on which something happens, with a real kube-scheduler: gangs,
and how soon a change shows.

Each wait for a change ends after two seconds. What it took is printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import pytest

from tests.console.chromium import Tab
from tests.console.test_overview import IS_CURRENT, ROWS
from tests.console.test_pending import ROWS as PENDING_ROWS

from .berth.console import WITHIN_TWO_SECONDS, ConsoleServe
from .berth.extender import ExtenderCache
from .berth.label_priority import priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import filter_prioritize_bind

CHANGES = 8


def has(element: str, text: str) -> str:
    """Whether it shows this text."""
    return f"document.getElementById('{element}').innerText.includes('{text}')"


class Watched:
    """A page on a live cluster, and how long it took until it showed each change."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._seconds: dict[str, list[float]] = {}

    def shows(self, what: str, change: Callable[[], object], condition: str) -> None:
        """condition: holds when the page shows the change."""
        change()
        started = time.monotonic()
        self._tab.wait_for(condition, seconds=WITHIN_TWO_SECONDS)
        self._seconds.setdefault(what, []).append(time.monotonic() - started)

    def print(self) -> None:
        for what, seconds in self._seconds.items():
            print(f"{what}: median {median(seconds):.2f} s, longest {max(seconds):.2f} s of {len(seconds)}")


@pytest.fixture
def watched(tab: Tab) -> Iterator[Watched]:
    found = Watched(tab)
    yield found
    found.print()


def test_overview_pending_and_decisions_show_a_change_within_two_seconds(
    control_plane: ControlPlane,
    cluster: Cluster,
    run_scheduler: RunScheduler,
    tab: Tab,
    watched: Watched,
    tmp_path: Path,
) -> None:
    console = ConsoleServe(control_plane, tmp_path)
    with console.serve as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        node = cluster.create_node("good", priority(1))
        ExtenderCache(berth).wait_for_scores({node: 1})
        tab.open(console.address)
        tab.wait_for(IS_CURRENT)

        tab.open(f"{console.origin}/#/overview?rows=nodes&label=")
        for name in (f"n{number}" for number in range(CHANGES)):
            shown = f"({ROWS}).some((row) => row.startsWith('{name}-'))"
            watched.shows("overview, a node", partial(cluster.create_node, name), shown)
        tab.open(f"{console.origin}/#/pending")
        for name in (f"large-{number}" for number in range(CHANGES)):
            shown = f"({PENDING_ROWS}).includes('default/{name}')"
            watched.shows("pending, a pod and its reason", partial(cluster.create_pod, name, cpu="99"), shown)
        tab.open(f"{console.origin}/#/decisions")
        for name in (f"small-{number}" for number in range(CHANGES)):
            shown = has("decisions-grid", f"default/{name}")
            watched.shows("decisions, of a pod that is created", partial(cluster.create_pod, name), shown)
