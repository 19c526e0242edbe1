"""What becomes of the tests of the console's page where there is no browser."""

from __future__ import annotations

import pytest

from tests.console.chromium import NoBrowser, find_browser, missing


@pytest.mark.parametrize(
    ("environment", "outcome"),
    [
        pytest.param({}, pytest.skip.Exception, id="a developer's machine"),
        pytest.param({"REQUIRE_BROWSER": "0"}, pytest.skip.Exception, id="a browser is not required"),
        pytest.param({"REQUIRE_BROWSER": "1"}, pytest.fail.Exception, id="a browser is required"),
    ],
)
def test_test_without_its_tool_is_skipped_or_fails(environment: dict[str, str], outcome: type[BaseException]) -> None:
    with pytest.raises(outcome, match="no Chromium"):
        missing("no Chromium", environment)


def test_says_how_to_get_a_browser() -> None:
    with pytest.raises(NoBrowser, match="make chromium"):
        find_browser("no-such-browser")
