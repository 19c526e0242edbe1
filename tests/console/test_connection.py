"""The page after its console ended, without a session, and with old data."""

from __future__ import annotations

from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT, IS_SEEN, NODES, PODS, ROWS, opened

KIND = "document.getElementById('status').dataset.kind"


def test_page_of_an_earlier_console_shows_a_remedy_and_recovers_when_another_tab_connects(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        opened(tab, console, "#/overview?rows=nodes&filter=n1")
        tab.wait_for(f"({ROWS})[0] === 'n1'")
    with served(LiveSource(NODES), console.port) as again:
        tab.wait_for(f"{KIND} === 'closed'")
        assert "open the address that berth console printed last" in tab.text("#status")
        with tab.beside() as other:
            other.open(again.addresses[-1])
            other.wait_for(IS_CURRENT)
            tab.wait_for(IS_CURRENT)
            assert tab.evaluate(ROWS) == ["n1", "n10", "n11"]


def test_page_without_a_session_shows_only_how_to_open_a_session(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        tab.open(f"{console.origin}/#/overview")
        tab.wait_for(f"{KIND} === 'closed'")
        assert "Open the address that berth console printed last" in tab.text("#start")
        seen = "[...document.querySelectorAll('main > *')].filter((each) => each.checkVisibility()).map(({ id }) => id)"
        assert tab.evaluate(seen) == ["start"]


def test_page_shows_that_its_data_is_old_and_the_cause(tab: Tab) -> None:
    source = LiveSource(NODES)
    with served(source) as console:
        opened(tab, console)
        source.shows(NODES, problem="the API server cannot be reached", age=600)
        tab.wait_for(f"{KIND} === 'stale'")
        assert "The data is 10 min old. the API server cannot be reached" in tab.text("#status")
        assert tab.evaluate(IS_SEEN.format("map"))
