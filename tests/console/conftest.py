"""One browser for all tests; without a browser, they are skipped or fail with a message that says how to get it."""

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
    """Yield a tab of 1,280 by 900 pixels. The test fails if its page violates its own security policy, or throws."""
    with browser.tab() as found:
        yield found
        assert found.violations == []
        assert found.errors == []
