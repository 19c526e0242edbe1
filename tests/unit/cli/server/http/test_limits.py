"""The request that is ended first if requests and responses use all the memory allowed."""

from __future__ import annotations

import resource

import pytest

from berth_cli.server.http.limits import SPARE_FILES, BytesInFlight, Share, allow_open_files

MOST = 100


class Request:
    """A share, and whether its end was requested."""

    def __init__(self, bytes_in_flight: BytesInFlight) -> None:
        self.share = Share(bytes_in_flight)
        self.ended = 0

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def bytes_in_flight() -> BytesInFlight:
    return BytesInFlight(MOST)


def waiting(bytes_in_flight: BytesInFlight, size: int) -> Request:
    request = Request(bytes_in_flight)
    request.share.wait_for_client(request.end)
    assert request.share.grow(size)
    return request


def test_oldest_waiting_request_is_ended_first(bytes_in_flight: BytesInFlight) -> None:
    first, second = waiting(bytes_in_flight, 50), waiting(bytes_in_flight, 50)
    third = waiting(bytes_in_flight, 1)
    assert (first.ended, second.ended, third.ended) == (1, 0, 0)
    assert (first.share.is_ended, second.share.is_ended) == (True, False)


def test_request_with_a_complete_body_is_not_ended(bytes_in_flight: BytesInFlight) -> None:
    running = waiting(bytes_in_flight, MOST)
    running.share.stop_waiting()
    late = Request(bytes_in_flight)
    late.share.wait_for_client(late.end)
    assert not late.share.grow(1)
    assert (running.ended, late.ended) == (0, 0)


def test_released_bytes_can_be_used_by_others(bytes_in_flight: BytesInFlight) -> None:
    running = waiting(bytes_in_flight, MOST)
    running.share.stop_waiting()
    running.share.release()
    waiting(bytes_in_flight, MOST)


def test_response_replaces_its_request_in_the_byte_count(bytes_in_flight: BytesInFlight) -> None:
    """Beyond the limit too: it exists already. Others get no room then."""
    running = waiting(bytes_in_flight, 10)
    running.share.stop_waiting()
    running.share.replace(MOST + 1)
    late = Request(bytes_in_flight)
    late.share.wait_for_client(late.end)
    assert not late.share.grow(1)
    running.share.wait_for_client(running.end)
    assert late.share.grow(1)
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
