"""Every view by keyboard alone: Tab reaches what can be used, and Enter uses it."""

from __future__ import annotations

from time import time

from berth.decisions.recent import RecentDecisions
from berth_cli.doctor.findings import CheckName, ok
from tests.builders.requests import cache_mode
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT
from tests.console.test_pending import FULL, NODES, PODS
from tests.console.test_policy import PROPOSED
from tests.fakes.verbs import Verbs

MOST_STEPS = 60


def tab_to(tab: Tab, selector: str) -> None:
    """Press Tab until the focus is there; the focus can be seen on the way."""
    for _ in range(MOST_STEPS):
        tab.press("Tab")
        if tab.evaluate(f"document.activeElement.matches({selector!r})"):
            assert tab.evaluate("document.activeElement.matches(':focus-visible')")
            return
    raise AssertionError(f"{MOST_STEPS} times Tab do not reach {selector}")


def test_every_view_is_reached_and_used_by_keyboard_alone(tab: Tab) -> None:
    recent = RecentDecisions(time)
    Verbs(NODES, recorder=recent).ask("filter", cache_mode(["n1", "n2"]))
    found = [ok(CheckName.CACHE, "data is 1 s old")]
    with served(LiveSource(NODES, PODS, FULL), recent=recent, second=PROPOSED, doctor=lambda: found) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)

        tab_to(tab, "[data-view=pending]")
        tab.press("Enter")
        tab.wait_for("document.querySelectorAll('#reasons button').length === 2")
        tab_to(tab, "#reasons button")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#reasons button[aria-pressed=true]') !== null")
        tab_to(tab, "#pending-grid [role=gridcell]")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#explanation h3') !== null")

        tab.evaluate("document.activeElement.blur()")
        tab_to(tab, "[data-view=decisions]")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#decisions-grid [role=gridcell]') !== null")
        # A grid is one stop; before it had rows, this is the head of a column.
        tab_to(tab, "#decisions-grid [tabindex='0']")
        tab.press("ArrowDown")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#decision details') !== null")
        # The nodes of a reason are behind it.
        tab.evaluate("document.activeElement.blur()")
        tab_to(tab, "#decision summary")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#decision details').open")

        tab.evaluate("document.activeElement.blur()")
        tab_to(tab, "[data-view=health]")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#health-content .card') !== null")
        tab_to(tab, "#doctor-run")
        tab.press("Enter")
        tab.wait_for("document.getElementById('doctor-line').innerText === '1 ok'")

        tab.evaluate("document.activeElement.blur()")
        tab_to(tab, "[data-view=policy]")
        tab.press("Enter")
        tab.wait_for("document.querySelectorAll('pre').length === 2")
        tab_to(tab, "#compare-run")
        tab.press("Enter")
        tab.wait_for("document.getElementById('compare-summary').innerText.includes('placed by both')")
