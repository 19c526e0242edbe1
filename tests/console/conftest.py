"""One browser for all tests; without one they are skipped or fail, and say how to get it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.chromium import Browser, NoBrowser, Tab, find_browser, missing


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--browser", default="", help="Command of a Chromium.")


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    try:
        command = find_browser(request.config.getoption("--browser"))
    except NoBrowser as error:
        missing(str(error))
    with Browser(command, tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A tab of 1,280 by 900 pixels. A test fails if its page breaks its own policy, or throws."""
    with browser.tab() as found:
        yield found
        assert found.violations == []
        assert found.errors == []
