"""`berth console --stack` on the deployed stack: nodes and decisions by what its tables have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.chromium import Tab
from tests.console.test_overview import IS_CURRENT, ROWS
from tests.deployment import sam

from .berth.berth_serve import CONFIGURATION
from .berth.console import ConsoleCommand
from .berth.extender import ExtenderCache
from .berth.identities import identities
from .berth.label_priority import NO_LABEL, priority
from .berth.stack import DeployedStack
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import filter_prioritize_bind

pytestmark = pytest.mark.stack

# A function that stands still writes its last record with the next call.
DECIDED_SECONDS = 60
IN_TABLE = f"{CONFIGURATION}decisions: table\n"


@pytest.fixture(scope="module")
def stack(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeployedStack]:
    """Of its own: another configuration is applied to it."""
    with DeployedStack(identities(control_plane), tmp_path_factory.mktemp("stack")) as stack:
        yield stack


def shows(element: str, text: str) -> str:
    """Whether it has this text."""
    return f"document.getElementById('{element}').innerText.includes({json.dumps(text)})"


def test_decisions_of_a_stack_are_shown_when_it_keeps_them_in_its_table(
    stack: DeployedStack, cluster: Cluster, run_scheduler: RunScheduler, tab: Tab, tmp_path: Path
) -> None:
    good, plain = cluster.create_node("good", priority(1)), cluster.create_node("plain")
    ExtenderCache(stack).wait_for_scores({good: 1})
    with ConsoleCommand(tmp_path, f"--stack={sam.STACK_NAME}", environment=stack.environment()) as console:
        tab.open(console.address)
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/overview?rows=nodes&label=")
        tab.wait_for(f"({ROWS}).includes('{good}')")
        tab.open(f"{console.origin}/#/decisions")
        tab.wait_for(shows("decisions-empty", "decisions is log; apply decisions: table"))

        stack.apply(IN_TABLE)
        run_scheduler(filter_prioritize_bind(stack.url_prefix))
        placed = cluster.create_pod("placed")
        assert cluster.wait_until_assigned(placed) == good
        tab.wait_for(shows("decisions-grid", f"{placed.namespace}/{placed.name}"), seconds=DECIDED_SECONDS)
        tab.open(f"{console.origin}/#/decisions?filter=filter")
        tab.evaluate("document.querySelector('#decisions-grid [role=gridcell]').click()")
        tab.wait_for(shows("decision", NO_LABEL))
        assert plain in tab.evaluate("document.getElementById('decision').textContent")
