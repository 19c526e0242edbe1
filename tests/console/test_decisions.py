"""The view of decisions: decisions appear as they are made, and an opened decision shows every node."""

from __future__ import annotations

from time import time

from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT
from tests.fakes.verbs import Verbs

NODES = [labelled("a", "10"), labelled("b", "20"), node("c")]
ROWS = (
    "[...document.querySelectorAll('#decisions-grid .grid-body [role=row]')]"
    ".map((row) => [...row.children].slice(1, 3).map((cell) => cell.innerText).join(' '))"
)


def test_new_decisions_appear_and_a_decision_can_be_opened(tab: Tab) -> None:
    recent = RecentDecisions(time)
    verbs = Verbs(NODES, recorder=recent)
    with served(LiveSource(NODES), recent=recent) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/decisions")
        tab.wait_for("document.getElementById('decisions-empty').innerText.startsWith('No decision yet')")
        verbs.ask("filter", cache_mode(["a", "b", "c"], pod_object("train-0")))
        tab.wait_for(f"({ROWS}).length === 1", seconds=5)
        verbs.ask("prioritize", cache_mode(["a", "b"], pod_object("train-0")))
        tab.wait_for(f"({ROWS}).length === 2", seconds=5)
        assert tab.evaluate(ROWS) == ["prioritize ml/train-0", "filter ml/train-0"]
        tab.evaluate("document.querySelectorAll('#decisions-grid [role=gridcell]')[0].click()")
        tab.wait_for("document.getElementById('decision').innerText.includes('NodePriorityLabel')")
        assert tab.evaluate("location.hash").startswith("#/decisions?decision=2")
        tab.evaluate("document.querySelectorAll('#decisions-grid [role=row]:last-child [role=gridcell]')[0].click()")
        tab.wait_for("document.querySelector('#decision details')?.innerText.includes('1 \u00d7 NodePriorityLabel')")
