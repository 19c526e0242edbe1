"""Runs axe-core in the page to find barriers for users without a mouse or without sight."""

from __future__ import annotations

import json
from pathlib import Path

from tests.console.chromium import Tab, missing

SCRIPT = Path(__file__).resolve().parents[2] / ".tools" / "console" / "node_modules" / "axe-core" / "axe.min.js"
RUN = (
    "axe.run({resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations.map("
    "({id, nodes}) => [id, nodes.map(({html, failureSummary}) => [html, failureSummary])])))"
)


def axe_violations(tab: Tab) -> list[object]:
    """Return the violations in the current page. Skip or fail the test if axe-core is not installed."""
    if not SCRIPT.exists():
        missing("axe-core is not installed: make .tools/console/.ready")
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(SCRIPT.read_text())
    found: list[object] = json.loads(tab.evaluate(RUN))
    return found
