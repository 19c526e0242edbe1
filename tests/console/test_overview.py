"""The overview on a cluster that changes: what is seen, opened, followed, and said."""

from __future__ import annotations

import pytest

from tests.console.axe import axe_violations
from tests.console.chromium import Browser, Tab
from tests.console.served import LiveSource, Served, served
from tests.unit.cli.console.cases import node, pod

ZONE = "topology.kubernetes.io/zone"
NODES = [node(f"n{number}", labels={ZONE: f"zone-{number % 3}"}) for number in range(12)]
PODS = [pod(f"p{number}", f"n{number % 12}", requests={"cpu": "500m"}) for number in range(30)]
IS_CURRENT = "document.getElementById('status').dataset.kind === 'current'"
HAS_PODS = "document.getElementById('summary').innerText.includes('30 pods')"
# A scroll bar takes room from the window: the page has less than its width.
CUT_OFF = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ROWS = "[...document.querySelectorAll('.grid-body [role=row]')].map((row) => row.children[0].innerText)"


def opened(tab: Tab, console: Served, fragment: str = "") -> None:
    """With the newest address, and then with this fragment."""
    tab.open(console.addresses[-1])
    tab.wait_for(IS_CURRENT)
    if fragment:
        tab.open(f"{console.origin}/{fragment}")


def test_shows_groups_and_leads_to_nodes_and_pods_by_keyboard(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console)
        tab.wait_for(HAS_PODS)
        assert tab.evaluate("location.hash") == "#/overview"
        assert tab.text("#summary") == "12 nodes, 30 pods; cpu: 31 % (15 of 48)"
        assert tab.evaluate(ROWS) == ["zone-0", "zone-1", "zone-2"]
        tab.evaluate("document.querySelector('.grid [tabindex=\"0\"]').focus()")
        tab.press("ArrowDown")
        tab.press("Enter")
        tab.wait_for(f"({ROWS})[0] === 'n1'")
        assert tab.evaluate(ROWS) == ["n1", "n4", "n7", "n10"]
        assert tab.evaluate("location.hash") == "#/overview?group=zone-1"
        # The focus is on the first node.
        tab.press("End", 2)
        tab.press("Enter")
        tab.wait_for(f"({ROWS})[0] === 'default/p10'")
        assert tab.evaluate("location.hash") == "#/overview?group=zone-1&node=n10"
        assert tab.text("#details h2") == "n10"
        tab.evaluate("history.back()")
        tab.wait_for(f"({ROWS})[0] === 'n1'")


def test_a_link_shows_the_same(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console, "#/overview?resource=memory&rows=nodes&sort=name&order=descending&filter=n1")
        tab.wait_for(f"({ROWS})[0] === 'n11'")
        assert tab.evaluate(ROWS) == ["n11", "n10", "n1"]
        tab.call("Page.reload")
        tab.wait_for(IS_CURRENT)
        tab.wait_for(f"({ROWS})[0] === 'n11'")
        assert tab.evaluate("document.getElementById('resource').value") == "memory"


def test_a_change_is_shown_within_two_seconds(tab: Tab) -> None:
    source = LiveSource(NODES, PODS)
    with served(source) as console:
        opened(tab, console)
        tab.wait_for(HAS_PODS)
        source.shows([*NODES, node("n99", labels={ZONE: "zone-9"})], PODS[:-1])
        tab.wait_for("document.getElementById('summary').innerText.startsWith('13 nodes, 29 pods')", seconds=4)
        assert tab.evaluate(ROWS) == ["zone-0", "zone-1", "zone-2", "zone-9"]


def test_clicking_the_map_opens_a_node(tab: Tab) -> None:
    with served(LiveSource(NODES[:1])) as console:
        opened(tab, console)
        box = tab.evaluate("JSON.parse(JSON.stringify(document.getElementById('map').getBoundingClientRect()))")
        # One node, in the middle below its title.
        tab.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.75)
        tab.wait_for("location.hash.includes('node=n0')")


def test_says_that_the_console_is_away_and_what_to_do_when_it_is_back(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        opened(tab, console)
    tab.wait_for("document.getElementById('status').dataset.kind === 'disconnected'")
    assert "does not answer" in tab.text("#status")
    with served(LiveSource(NODES), console.port) as again:
        tab.wait_for("document.getElementById('status').dataset.kind === 'closed'")
        assert "open the address that berth console printed last" in tab.text("#status")
        opened(tab, again)
        assert tab.text("#status").endswith("a cluster, current")


def test_says_that_data_is_old_and_why(tab: Tab) -> None:
    source = LiveSource(NODES)
    with served(source) as console:
        opened(tab, console)
        source.shows(NODES, problem="the API server cannot be reached", age=600)
        tab.wait_for("document.getElementById('status').dataset.kind === 'stale'")
        assert "The data is 10 min old. the API server cannot be reached" in tab.text("#status")


def test_says_that_there_are_no_nodes(tab: Tab) -> None:
    with served(LiveSource()) as console:
        opened(tab, console)
        assert tab.evaluate("document.getElementById('empty').hidden") is False


def test_an_address_opens_once(browser: Browser, tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        address = console.addresses[0]
        opened(tab, console)
        with browser.tab() as other:
            other.open(address)
            other.wait_for("document.getElementById('status').dataset.kind === 'closed'")
            assert "was used before" in other.text("#status")
            assert other.text("#summary").startswith("0 nodes")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_cut_off(browser: Browser, width: int, scheme: str) -> None:
    with served(LiveSource(NODES, PODS)) as console, browser.tab(width, 844, scheme) as tab:
        opened(tab, console, "#/overview?group=zone-1&node=n1")
        tab.wait_for(HAS_PODS)
        assert axe_violations(tab) == []
        assert tab.evaluate(CUT_OFF) == 0


def test_paper_has_all_rows(tab: Tab) -> None:
    nodes = [node(f"n{number}") for number in range(300)]
    with served(LiveSource(nodes)) as console:
        opened(tab, console, "#/overview?rows=nodes")
        tab.wait_for(f"({ROWS})[0] === 'n0'")
        assert len(tab.evaluate(ROWS)) < 60
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert len(tab.evaluate(ROWS)) == 300
        tab.evaluate("dispatchEvent(new Event('afterprint'))")
        assert len(tab.evaluate(ROWS)) < 60
