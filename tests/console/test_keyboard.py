"""Every view by keyboard alone: Tab and Shift+Tab reach the controls, and Enter activates them."""

from __future__ import annotations

from time import time

from berth.configuration.store import ActiveConfiguration
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.planned import gang_configuration
from tests.builders.requests import cache_mode
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import HAS_PODS, IS_CURRENT, ROWS
from tests.console.test_overview import NODES as ZONES
from tests.console.test_overview import PODS as PODS_OF_ZONES
from tests.console.test_pending import NODES, PODS, TRAIN
from tests.fakes.verbs import Verbs

MOST_STEPS = 80
SHIFT = 8


def tab_to(tab: Tab, selector: str, *, back: bool = False) -> None:
    """Press Tab (or Shift+Tab) until the selected element has the focus, and assert that the focus is visible."""
    for _ in range(MOST_STEPS):
        tab.press("Tab", SHIFT if back else 0)
        if tab.evaluate(f"document.activeElement.matches({selector!r})"):
            assert tab.evaluate("document.activeElement.matches(':focus-visible')")
            return
    raise AssertionError(f"{MOST_STEPS} times Tab do not reach {selector}")


def test_overview_is_usable_with_the_keyboard_alone(tab: Tab) -> None:
    with served(LiveSource(ZONES, PODS_OF_ZONES)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(HAS_PODS)
        # The first tab stop is a link that skips to the table.
        tab.press("Tab")
        assert tab.evaluate("document.activeElement.id") == "skip"
        tab.press("Enter")
        tab.wait_for("document.activeElement.closest('#grid') !== null")
        tab.press("Enter")
        tab.wait_for("location.hash === '#/overview?group=zone-0'")
        # The breadcrumbs are before the table.
        tab_to(tab, "#crumbs button", back=True)
        tab.press("Enter")
        tab.wait_for("location.hash === '#/overview'")
        tab_to(tab, "#resource", back=True)
        tab.press("ArrowDown")
        tab.wait_for("location.hash.includes('resource=')")

        tab_to(tab, "#filter")
        for key in "zone-2":
            tab.press(key)
        tab.wait_for(f"JSON.stringify({ROWS}) === JSON.stringify(['zone-2'])")
        tab_to(tab, "#grid [tabindex='0']")
        tab.press("End", 2)
        tab.press("Enter")
        tab.wait_for("location.hash.includes('group=zone-2')")


def test_pending_and_decisions_views_are_usable_with_the_keyboard_alone(tab: Tab) -> None:
    recent = RecentDecisions(time)
    Verbs(NODES, recorder=recent).ask("filter", cache_mode(["n1", "n2"]))
    source = LiveSource(NODES, [*PODS, *TRAIN], ActiveConfiguration.of(gang_configuration()))
    with served(source, recent=recent) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)

        tab_to(tab, "[data-view=pending]")
        tab.press("Enter")
        tab.wait_for("document.querySelectorAll('#reasons button').length > 1")
        tab_to(tab, "#reasons button")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#reasons button[aria-pressed=true]') !== null")
        tab_to(tab, "[data-gang]")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#gang table') !== null")
        tab_to(tab, "#pending-grid .grid-body [role=row]")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#explanation h3') !== null")

        tab_to(tab, "[data-view=decisions]", back=True)
        tab.press("Enter")
        tab.wait_for("document.querySelector('#decisions-grid [role=gridcell]') !== null")
        tab_to(tab, "#decisions-verb")
        tab.press("ArrowDown")
        tab.wait_for("location.hash.includes('verb=filter')")
        # A grid is one tab stop; until it has rows, the stop is a column header.
        tab_to(tab, "#decisions-grid [tabindex='0']")
        tab.press("ArrowDown")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#decision details') !== null")
        # The summary of a reason opens the list of its nodes.
        tab_to(tab, "#decision summary", back=True)
        tab.press("Enter")
        tab.wait_for("document.activeElement.closest('details').open")
