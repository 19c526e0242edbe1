"""What a console says of the health of a running server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth_cli.console.running_server.health import RESERVATIONS_SECONDS, ServerHealth
from tests.fakes.doctor import answered
from tests.unit.cli.console.running_server.cases import REFUSED, Routes, healthy


def reservation(pod: str, state: str) -> dict[str, object]:
    """As GET /reservations has it."""
    return {"pod": pod, "node": "n1", "uid": pod, "state": state, "holds": {"x/y": 1}, "claims": None, "why": "w"}


RESERVATIONS = {
    "reservations": [reservation("ml/a", "announced"), reservation("ml/b", "reserved"), reservation("ml/c", "bound")],
    "nodes": [
        {"node": "n1", "capacity": {"x/y": 1}, "available": {"x/y": 0}, "owed": {"x/y": 2}},
        {"node": "n2", "capacity": {"x/y": 1}, "available": None, "owed": {}},
    ],
}


def facts(endpoint: Routes) -> Mapping[str, Any]:
    return ServerHealth(endpoint.server, lambda: 0.0).facts(0.0)


def test_says_the_cache_without_the_configuration() -> None:
    found = facts(Routes(health=answered(healthy(cluster="uid")), routes={"reservations": answered(RESERVATIONS)}))
    assert found["cache"] == {"status": "ok", "observedAgeSeconds": 4.0}
    # It does not know them, so it says nothing of them.
    assert sorted(found) == ["cache", "reservations"]


def test_counts_reservations_that_are_open_and_owed() -> None:
    found = facts(Routes(routes={"reservations": answered(RESERVATIONS)}))["reservations"]
    assert (found["count"], found["open"], found["owed"], found["rebuilding"]) == (3, 2, 1, 1)
    assert found["reservations"][0] == {
        "pod": "ml/a",
        "node": "n1",
        "state": "announced",
        "holds": {"x/y": 1},
        "why": "w",
    }


def test_reservations_that_cannot_be_read_hide_nothing_else() -> None:
    found = facts(Routes(routes={"reservations": answered({"reason": "the ledger throttles"}, 503)}))
    assert "the ledger throttles" in found["reservations"]["problem"]
    assert found["cache"]["status"] == "ok"
    odd = facts(Routes(routes={"reservations": answered({"reservations": [{}], "nodes": []})}))
    assert "is it of this release?" in odd["reservations"]["problem"]


def test_reservations_are_read_every_ten_seconds_and_the_cache_each_time() -> None:
    endpoint, seconds = Routes(routes={"reservations": answered(RESERVATIONS)}), [0.0]
    health = ServerHealth(endpoint.server, lambda: seconds[0])
    for now, asked in ((0.0, 1), (RESERVATIONS_SECONDS - 0.1, 1), (RESERVATIONS_SECONDS, 2)):
        seconds[0] = now
        health.facts(0.0)
        assert len(endpoint.asked) == asked


def test_server_that_is_away_says_so() -> None:
    found = facts(Routes(health=REFUSED))
    assert "connection refused" in found["cache"]["reason"]
