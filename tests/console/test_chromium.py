"""What watches the pages of the other tests sees what it is there for."""

from __future__ import annotations

from tests.console.chromium import Browser
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT

AND_WAIT = "new Promise((resolve) => {{ addEventListener('{}', () => resolve(true)); {}; }})"
FOREIGN_IMAGE = "document.body.append(Object.assign(new Image(), { src: 'http://elsewhere.invalid/x.png' }))"


def test_violations_and_errors_are_seen_after_a_reload(browser: Browser) -> None:
    with served(LiveSource()) as console, browser.tab() as tab:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.evaluate(AND_WAIT.format("securitypolicyviolation", FOREIGN_IMAGE))
        tab.evaluate("alert(1)")
        tab.evaluate(AND_WAIT.format("error", "setTimeout(() => { throw new Error('nobody catches it'); })"))
        tab.reload()
        tab.wait_for(IS_CURRENT)
        assert sorted(each.split(": ")[0] for each in tab.violations) == ["alert", "img-src"]
        assert "nobody catches it" in tab.errors[0]
