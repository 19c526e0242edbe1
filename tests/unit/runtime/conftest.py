from __future__ import annotations

import sys

import pytest

from tests.fakes.log_lines import LogLines


@pytest.fixture
def metrics(
    log_lines: LogLines, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> pytest.CaptureFixture[str]:
    """Capture the output, log lines included, with detailed metrics."""
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    monkeypatch.setenv("BERTH_DETAILED_METRICS", "true")

    def write(text: str) -> int:
        return sys.stdout.write(text)  # looked up at each call: capsys replaces it

    monkeypatch.setattr(log_lines.stream, "write", write)
    return capsys
