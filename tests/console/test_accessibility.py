"""Every view and every state under axe, in both widths and by both of the system's choices of colours."""

from __future__ import annotations

import re
from time import time

import pytest

from berth.configuration.store import ActiveConfiguration
from berth_cli.console.cluster import NotRead
from berth_cli.console.decisions import DecisionsHere
from berth_cli.console.running import ConsoleContents
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.planned import gang_configuration
from tests.builders.requests import cache_mode
from tests.console.axe import axe_violations
from tests.console.chromium import Browser, Tab
from tests.console.pictured import PicturedDecisions
from tests.console.served import LiveSource, served, served_as
from tests.console.test_connection import KIND
from tests.console.test_overview import IS_CURRENT
from tests.console.test_pending import NODES, PODS, TRAIN
from tests.fakes.verbs import Verbs

# A scroll bar takes room from the window: the page has less than its width.
CUT_OFF = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SIZES = ((390, 844), (1280, 844))
SCHEMES = ("light", "dark")
# Each with what is shown then.
VIEWS = (
    ("overview", "document.getElementById('overview-caption').innerText.includes(', ')"),
    ("overview?group=-without-&node=n1", "document.querySelector('#details table') !== null"),
    ("pending?pod=default/large", "document.getElementById('explanation').innerText.includes('What would place')"),
    ("pending?gang=ml/train", "document.querySelector('#gang table') !== null"),
    ("decisions?decision=KEY0", "document.querySelector('#decision details') !== null"),
    ("decisions?decision=KEY1", "document.querySelector('#decision table') !== null"),
)


def check(tab: Tab, state: str) -> None:
    """Nothing that axe finds, and nothing that has to be scrolled sideways."""
    assert (state, axe_violations(tab)) == (state, [])
    assert (state, tab.evaluate(CUT_OFF)) == (state, 0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_in_any_view(browser: Browser, size: tuple[int, int], scheme: str) -> None:
    recent = RecentDecisions(time)
    verbs = Verbs(NODES, recorder=recent)
    for verb in ("filter", "prioritize"):
        verbs.ask(verb, cache_mode(["n1", "n2"]))
    source = LiveSource(NODES, [*PODS, *TRAIN], ActiveConfiguration.of(gang_configuration()))
    keys = {f"KEY{at}": each.key for at, each in enumerate(DecisionsHere(recent).all())}
    with served_as(ConsoleContents(source, PicturedDecisions(recent))) as console, browser.tab(*size, scheme) as tab:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        for view, is_shown in VIEWS:
            tab.evaluate(f"location.hash = '#/{re.sub('KEY.', lambda found: keys[found[0]], view)}'")
            tab.wait_for(is_shown)
            check(tab, view)
        assert tab.violations == []
        assert tab.errors == []


NEVER_ANSWERED = """
const ask = window.fetch;
window.fetch = (path, ...more) =>
  /\\/api\\/(?!cluster|pods)/.test(path) ? new Promise(() => {}) : ask(path, ...more);
"""


def test_axe_finds_nothing_in_a_view_that_waits_for_its_data(browser: Browser) -> None:
    with served(LiveSource(NODES, PODS)) as console, browser.tab() as tab:
        tab.run_first(NEVER_ANSWERED)
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        for view in ("pending", "decisions"):
            tab.evaluate(f"location.hash = '#/{view}'")
            tab.wait_for(f"document.getElementById('{view}').checkVisibility()")
            check(tab, view)


class Listing(LiveSource):
    """A cluster that has not answered yet."""

    def observe(self, timeout: float) -> NotRead:  # type: ignore[override]
        super().observe(timeout)
        return NotRead("the cluster is being listed")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_in_any_state(browser: Browser, size: tuple[int, int], scheme: str) -> None:
    with browser.tab(*size, scheme) as tab:
        with served(Listing()) as console:
            tab.open(console.addresses[-1])
            tab.wait_for("document.getElementById('start').innerText.includes('being listed')")
            check(tab, "loading")
        source = LiveSource()
        with served(source, console.port) as console:
            tab.open(console.addresses[-1])
            tab.wait_for(IS_CURRENT)
            tab.wait_for("document.getElementById('empty').checkVisibility()")
            check(tab, "no nodes")
            for view in ("pending", "decisions"):
                tab.evaluate(f"location.hash = '#/{view}'")
                tab.wait_for(f"document.getElementById('{view}').checkVisibility()")
                check(tab, f"{view} of nothing")
            tab.evaluate("location.hash = '#/overview'")
            source.shows(NODES, problem="the API server cannot be reached", age=600)
            tab.wait_for(f"{KIND} === 'stale'")
            check(tab, "stale")
        tab.wait_for(f"{KIND} === 'disconnected'")
        check(tab, "disconnected")
    with browser.tab(*size, scheme) as other, served(LiveSource()) as console:
        other.open(console.origin)
        other.wait_for(f"{KIND} === 'closed'")
        check(other, "without a session")
        assert other.violations == []
