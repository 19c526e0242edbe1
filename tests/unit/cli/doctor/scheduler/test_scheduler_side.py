"""Which extender entries of a scheduler's configuration call Berth."""

from __future__ import annotations

import pytest

from tests.fakes.doctor import ADDRESS
from tests.unit.cli.doctor.scheduler_documents import document, side


@pytest.mark.parametrize(
    ("extenders_", "address", "ours"),
    [
        pytest.param(["https://berth.example.com/sched"], ADDRESS, 1, id="ignores path"),
        pytest.param(["https://u:p@berth.example.com/scheduler"], ADDRESS, 1, id="ignores credentials"),
        pytest.param(["https://berth.example.com:443/scheduler"], ADDRESS, 1, id="the scheme's own port"),
        pytest.param(["http://berth.example.com/scheduler"], ADDRESS, 0, id="other port"),
        pytest.param(["https://other/x", ADDRESS], "", 1, id="by path without address"),
        pytest.param(["https://only/x"], "", 1, id="the only extender"),
        pytest.param(["https://a/x", "https://b/x"], "", 0, id="several unknown extenders"),
    ],
)
def test_finds_extenders_of_berth(extenders_: list[str], address: str, ours: int) -> None:
    found = document() | {"extenders": [{"urlPrefix": url} for url in extenders_]}
    assert len(side(found, address).berth_extenders) == ours
