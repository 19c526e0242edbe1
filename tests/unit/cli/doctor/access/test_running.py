"""What /healthz?verbose says of the running Berth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from berth_cli.doctor.access.endpoint import HttpResponse
from berth_cli.doctor.access.running import running_berth
from tests.builders.custom_plugins import FAILS_TO_START, NAMED, installed_plugins


class Answers:
    """An endpoint that answers every request with this document."""

    def __init__(self, document: object) -> None:
        self._answer = HttpResponse(200, orjson.dumps(document), 0.0, None, 0.0)

    def healthz(self) -> HttpResponse:
        return self._answer

    def get(self, path: str) -> HttpResponse:
        return self._answer


@pytest.mark.parametrize(
    ("module", "is_known"),
    [pytest.param("", True, id="it works here, too"), pytest.param(FAILS_TO_START, False, id="it fails here")],
)
def test_configuration_is_unknown_where_its_plugin_cannot_be_built_here(
    tmp_path: Path, module: str, is_known: bool
) -> None:
    with installed_plugins(tmp_path):
        if module:
            (tmp_path / "berth_plugins" / "mine.py").write_text(module)
        endpoint: Any = Answers({"configuration": orjson.loads(NAMED)})
        assert (running_berth(endpoint).configuration is not None) is is_known


@pytest.mark.parametrize(
    ("health", "fallback"),
    [
        pytest.param({"configurationFallback": "version 1 is used instead"}, "version 1 is used instead", id="another"),
        pytest.param({}, "", id="the applied one"),
    ],
)
def test_says_why_another_document_is_in_use(health: dict[str, str], fallback: str) -> None:
    endpoint: Any = Answers(health)
    assert running_berth(endpoint).fallback == fallback
