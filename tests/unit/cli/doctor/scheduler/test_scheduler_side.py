"""Which extender entries of a scheduler's configuration call Berth."""

from __future__ import annotations

import pytest

from tests.fakes.doctor import ADDRESS
from tests.unit.cli.doctor.scheduler_documents import document, side


@pytest.mark.parametrize(
    ("extenders_", "address", "ours"),
    [
        pytest.param(["https://berth.example.com/sched"], ADDRESS, 1, id="a wrong path does not hide it"),
        pytest.param(["https://u:p@berth.example.com/scheduler"], ADDRESS, 1, id="nor do credentials"),
        pytest.param(["https://berth.example.com:443/scheduler"], ADDRESS, 1, id="the scheme's own port"),
        pytest.param(["http://berth.example.com/scheduler"], ADDRESS, 0, id="another port is another server"),
        pytest.param(["https://other/x", ADDRESS], "", 1, id="without an address, by its path"),
        pytest.param(["https://only/x"], "", 1, id="or for it is the only one"),
        pytest.param(["https://a/x", "https://b/x"], "", 0, id="or nobody knows"),
    ],
)
def test_finds_extenders_of_berth(extenders_: list[str], address: str, ours: int) -> None:
    found = document() | {"extenders": [{"urlPrefix": url} for url in extenders_]}
    assert len(side(found, address).berth_extenders) == ours
