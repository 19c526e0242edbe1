"""Paper: white whatever the screen is, with all rows up to a limit that it names."""

from __future__ import annotations

import base64
import re
import zlib
from json import dumps

import pytest

from tests.console.chromium import Browser, Tab
from tests.console.pictured import shown
from tests.console.served import LiveSource, served, served_as
from tests.console.test_overview import IS_CURRENT, ROWS, opened
from tests.unit.cli.console.cases import node

NODES = [node(f"n{number}") for number in range(300)]
WHITE = [255, 255, 255]
CORNER = "[...document.getElementById('map').getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3)"

# Those of bars and lines by the page's style, and those on the canvases.
CHART_COLOURS = """(() => {
  const style = getComputedStyle(document.documentElement);
  const named = (numbers) => '#' + numbers.map((each) => each.toString(16).padStart(2, '0')).join('');
  const drawn = new Set();
  for (const canvas of document.querySelectorAll('#health-charts canvas')) {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 255) drawn.add(named([...data.slice(at, at + 3)]));
    }
  }
  return { wanted: ['--line', '--accent'].map((name) => style.getPropertyValue(name).trim()), drawn: [...drawn] };
})()"""

# Each with what is on the paper once its data is there.
VIEWS = {
    "overview": "#grid .grid-body [role=row]",
    "pending": "#reasons button",
    "decisions": "#decisions-grid .grid-body [role=row]",
    "health": "#health-charts figure",
    "policy": "#policy-texts pre",
}


def images(pdf: bytes) -> list[tuple[int, bytes]]:
    """Width and samples of the canvases in a PDF: red, green and blue from the upper left."""
    streams = re.findall(rb"<<(/Type /XObject[^>]*?/Subtype /Image.*?)>>\s*stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    return [
        (int(re.findall(rb"/Width (\d+)", head)[0]), zlib.decompress(content))
        for head, content in streams
        if b"FlateDecode" in head and b"ICCBased" in head
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pdf_is_white_and_has_the_map_and_all_rows(browser: Browser, scheme: str) -> None:
    with served(LiveSource(NODES)) as console, browser.tab(scheme=scheme) as tab:
        opened(tab, console, "#/overview?rows=nodes")
        tab.wait_for(f"({ROWS})[0] === 'n0'")
        tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = ({ROWS}).length; }})")
        pdf = base64.b64decode(tab.call("Page.printToPDF", printBackground=True)["data"])
        assert tab.evaluate("window.printed") == 300
        assert len(re.findall(rb"/Type /Page\b", pdf)) > 5
        [samples] = [samples for width, samples in images(pdf) if width > 1000]
        assert list(samples[:3]) == WHITE
        assert len(set(samples)) > 2
        # The page is as it was.
        tab.wait_for(f"({ROWS}).length < 60")
        tab.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        assert (tab.evaluate(CORNER) == WHITE) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_dark_on_white(browser: Browser, scheme: str) -> None:
    with served_as(shown()) as console, browser.tab(scheme=scheme) as tab:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.emulate(scheme, media="print")
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
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


def test_charts_have_the_colours_of_paper_when_a_dark_page_is_printed(browser: Browser) -> None:
    with served_as(shown()) as console, browser.tab(scheme="dark") as tab:
        opened(tab, console, "#/health")
        tab.wait_for("document.querySelectorAll('#health-charts figure').length > 1")
        tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {CHART_COLOURS}; }})")
        dark = tab.evaluate(CHART_COLOURS)
        tab.call("Page.printToPDF", printBackground=True)
        printed = tab.evaluate("window.printed")
        assert dark["wanted"] != printed["wanted"]
        for each in (dark, printed):
            assert set(each["wanted"]) <= set(each["drawn"])
        tab.wait_for(
            f"JSON.stringify({CHART_COLOURS}.wanted) === {dumps(dumps(dark['wanted'], separators=(',', ':')))}"
        )
        assert set(dark["wanted"]) <= set(tab.evaluate(CHART_COLOURS)["drawn"])


def test_paper_says_how_many_rows_it_has(tab: Tab) -> None:
    with served(LiveSource([node(f"n{number}") for number in range(1200)])) as console:
        opened(tab, console, "#/overview?rows=nodes")
        tab.wait_for(f"({ROWS})[0] === 'n0'")
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert len(tab.evaluate(ROWS)) == 1000
        assert tab.text("#grid .print-note") == "The first 1000 of 1200 rows."
        tab.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not tab.evaluate("document.querySelector('#grid .print-note').checkVisibility()")
        assert len(tab.evaluate(ROWS)) < 60
