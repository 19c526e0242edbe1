"""The answers to a probe that the pre-traffic hook accepts."""

from __future__ import annotations

import pytest

from berth.runtime.http.events import WARM_UP_EVENT
from berth.runtime.pre_traffic import NOTHING_LOADED, _defect_of


@pytest.mark.parametrize(
    ("content", "defect"),
    [
        pytest.param({"version": 1}, "", id="the first version"),
        pytest.param({"version": 0}, NOTHING_LOADED, id="no version"),
        pytest.param({"message": "no"}, NOTHING_LOADED, id="an error"),
    ],
)
def test_load_has_to_find_a_snapshot(content: object, defect: str) -> None:
    assert _defect_of("filter", WARM_UP_EVENT, 200, content) == defect
