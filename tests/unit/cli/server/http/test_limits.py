"""The request that is ended first if requests and responses use all the memory allowed."""

from __future__ import annotations

import resource

import pytest

from berth_cli.server.http.limits import SPARE_FILES, BytesInFlight, allow_open_files

LIMIT = 100


class Client:
    """A connection, and how often its end was requested."""

    def __init__(self, bytes_in_flight: BytesInFlight) -> None:
        self._bytes_in_flight = bytes_in_flight
        self.ended = 0

    def hold(self, size: int, *, waits: bool = True) -> bool:
        return self._bytes_in_flight.hold(self, size, waits=waits)

    def interrupt(self, status: int, error: str) -> None:
        assert status == 503
        self.ended += 1


@pytest.fixture
def clients() -> list[Client]:
    bytes_in_flight = BytesInFlight(LIMIT)
    return [Client(bytes_in_flight) for _ in range(3)]


def test_oldest_waiting_request_is_ended_first(clients: list[Client]) -> None:
    assert [client.hold(size) for client, size in zip(clients, (50, 50, 1), strict=True)] == [True] * 3
    assert [client.ended for client in clients] == [1, 0, 0]


def test_request_with_a_complete_body_is_not_ended(clients: list[Client]) -> None:
    running, late, _ = clients
    assert running.hold(LIMIT)
    assert running.hold(LIMIT, waits=False)
    assert not late.hold(1)
    assert (running.ended, late.ended) == (0, 0)


def test_released_bytes_can_be_used_by_other_requests(clients: list[Client]) -> None:
    running, late, _ = clients
    assert running.hold(LIMIT, waits=False)
    running._bytes_in_flight.release(running)
    assert late.hold(LIMIT)


def test_response_replaces_its_request_in_the_byte_count(clients: list[Client]) -> None:
    """Even beyond the limit, as the response exists already. Other requests get room only by ending its connection."""
    running, late, _ = clients
    assert running.hold(10, waits=False)
    assert not running.hold(LIMIT + 1, waits=False)
    assert not late.hold(1)
    assert not running.hold(LIMIT + 1, waits=True)
    assert late.hold(1)
    assert running.ended == 1


@pytest.mark.parametrize(
    ("soft", "hard", "allowed", "warns"),
    [
        pytest.param(1024, 4096, None, False, id="enough"),
        pytest.param(256, 4096, 256 + SPARE_FILES, False, id="raised as far as needed"),
        pytest.param(256, resource.RLIM_INFINITY, 256 + SPARE_FILES, False, id="without a hard limit"),
        pytest.param(resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, False, id="without any limit"),
        pytest.param(256, 300, 300, True, id="the hard limit is too low"),
    ],
)
def test_allows_as_many_open_files_as_the_connections_need(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, allowed: int | None, warns: bool
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: told.append(limits))
    assert bool(list(allow_open_files(256))) is warns
    assert told == ([] if allowed is None else [(allowed, hard)])
