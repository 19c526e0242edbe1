"""Every view and state, checked with axe at two widths and in both color schemes of the system."""

from __future__ import annotations

import re
from time import time

import pytest

from berth.configuration.store import ActiveConfiguration
from berth_cli.console.decisions import DecisionsHere
from berth_cli.console.running import ConsoleContents
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.planned import gang_configuration
from tests.builders.requests import cache_mode
from tests.console.axe import axe_violations
from tests.console.chromium import Browser, Tab
from tests.console.pictured import PicturedDecisions
from tests.console.served import LiveSource, served_as
from tests.console.test_overview import IS_CURRENT
from tests.console.test_pending import NODES, PODS, TRAIN
from tests.fakes.verbs import Verbs

# clientWidth, because a vertical scroll bar makes the page narrower than the window.
CUT_OFF = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SIZES = ((390, 844), (1280, 844))
SCHEMES = ("light", "dark")
# Each view with the condition that is true once it is shown.
VIEWS = (
    ("overview", "document.getElementById('overview-caption').innerText.includes(', ')"),
    ("overview?group=-without-&node=n1", "document.querySelector('#details table') !== null"),
    ("pending?pod=default/large", "document.getElementById('explanation').innerText.includes('What would place')"),
    ("pending?gang=ml/train", "document.querySelector('#gang table') !== null"),
    ("decisions?decision=KEY0", "document.querySelector('#decision details') !== null"),
    ("decisions?decision=KEY1", "document.querySelector('#decision table') !== null"),
)


def check(tab: Tab, state: str) -> None:
    """Assert that axe finds no violation and that nothing needs horizontal scrolling."""
    assert (state, axe_violations(tab)) == (state, [])
    assert (state, tab.evaluate(CUT_OFF)) == (state, 0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_view_passes_the_axe_accessibility_check(browser: Browser, size: tuple[int, int], scheme: str) -> None:
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
