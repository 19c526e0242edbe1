"""The gangs of a running server."""

from __future__ import annotations

import pytest

from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.running_server.gangs import LOOK_SECONDS, ServerGangs
from tests.fakes.doctor import answered
from tests.unit.cli.console.running_server.cases import REFUSED, Routes

GANG = {
    "gang": "ml/train",
    "state": "open",
    "waitsFor": "1 of 2 members are in bind",
    "minimum": 2,
    "members": {"exist": 2, "inBind": 1, "onNodes": 0},
    "priority": 7,
    "since": None,
}
ANSWER = {"gangs": [{**GANG, "topologyKey": "", "places": []}], "open": "ml/train", "compared": True}


def test_gangs_are_those_of_the_server() -> None:
    server = Routes(routes={"gangs": answered(ANSWER)}).server
    assert ServerGangs(server, lambda: 0.0).gangs(0.0) == {"gangs": [GANG], "open": "ml/train", "compared": True}


def test_server_is_asked_every_five_seconds() -> None:
    endpoint, seconds = Routes(routes={"gangs": answered(ANSWER)}), [0.0]
    gangs = ServerGangs(endpoint.server, lambda: seconds[0])
    for now, asked in ((0.0, 1), (LOOK_SECONDS - 0.1, 1), (LOOK_SECONDS, 2)):
        seconds[0] = now
        gangs.gangs(0.0)
        assert len(endpoint.asked) == asked


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(REFUSED, "connection refused", id="no answer"),
        pytest.param(answered({"reason": "the ledger throttles"}, 503), "the ledger throttles", id="no ledger"),
        pytest.param(answered({"gangs": [{}]}), "is it of this release?", id="another document"),
    ],
)
def test_server_without_gangs_says_why(answer: object, reason: str) -> None:
    found = ServerGangs(Routes(routes={"gangs": answer}).server, lambda: 0.0).gangs(0.0)  # type: ignore[dict-item]
    assert isinstance(found, NotRead)
    assert reason in found.reason
