"""Paper: white whatever the screen is, with all rows up to a limit that it names."""

from __future__ import annotations

import base64
import re

import pytest

from tests.console.chromium import Browser, Tab
from tests.console.pictured import shown
from tests.console.served import LiveSource, served, served_as
from tests.console.test_overview import IS_CURRENT, ROWS, opened
from tests.unit.cli.console.cases import node

NODES = [node(f"n{number}") for number in range(300)]
# Each with what is on the paper once its data is there.
VIEWS = {
    "overview": "#grid .grid-body [role=row]",
    "pending": "#reasons button",
    "decisions": "#decisions-grid .grid-body [role=row]",
}


def test_paper_has_the_map_and_all_rows(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        opened(tab, console, "#/overview?rows=nodes")
        tab.wait_for(f"({ROWS}).length === 300")
        pdf = base64.b64decode(tab.call("Page.printToPDF", printBackground=True)["data"])
        assert len(re.findall(rb"/Type /Page\b", pdf)) > 5
        tab.emulate(media="print")
        assert tab.evaluate("getComputedStyle(document.querySelector('#map')).maxHeight") == "none"
        assert tab.evaluate("getComputedStyle(document.querySelector('#map')).printColorAdjust") == "exact"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_dark_on_white(browser: Browser, scheme: str) -> None:
    with served_as(shown()) as console, browser.tab(scheme=scheme) as tab:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.emulate(scheme, media="print")
        for view, shown_first in VIEWS.items():
            tab.evaluate(f"location.hash = '#/{view}'")
            tab.wait_for(f"document.querySelector('{shown_first}')?.checkVisibility()")
            tab.evaluate(
                """(() => {
                    window.light = [...document.querySelectorAll('main *')].filter((each) => {
                      if (!each.checkVisibility() || !each.innerText) return false;
                      const shade = (colour) => {
                        const [red, green, blue, alpha = 1] = colour.match(/[\\d.]+/g).map(Number);
                        return alpha ? 0.2126 * red + 0.7152 * green + 0.0722 * blue : 255;
                      };
                      const style = getComputedStyle(each);
                      return shade(style.color) > 140 || shade(style.backgroundColor) < 200;
                    }).map((each) => each.outerHTML.slice(0, 200));
                })()"""
            )
            assert (view, tab.evaluate("window.light")) == (view, [])
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_paper_says_how_many_rows_it_has(tab: Tab) -> None:
    with served(LiveSource([node(f"n{number}") for number in range(1200)])) as console:
        opened(tab, console, "#/overview?rows=nodes")
        tab.wait_for(f"({ROWS})[0] === 'n0'")
        assert len(tab.evaluate(ROWS)) == 1000
        assert tab.text("#grid .print-note") == "The first 1000 of 1200 rows."
