from __future__ import annotations

import pytest

from tests.fakes.log_lines import LogLines


@pytest.fixture
def metrics(
    log_lines: LogLines, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> pytest.CaptureFixture[str]:
    """What is printed; log lines go elsewhere."""
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    return capsys
