"""Who has to end when requests and answers take all the memory that they may."""

from __future__ import annotations

import pytest

from berth_cli.http_server.limits import BytesInFlight, Share

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


def test_oldest_waiting_request_ends_first(bytes_in_flight: BytesInFlight) -> None:
    first, second = waiting(bytes_in_flight, 50), waiting(bytes_in_flight, 50)
    third = waiting(bytes_in_flight, 1)
    assert (first.ended, second.ended, third.ended) == (1, 0, 0)
    assert (first.share.is_ended, second.share.is_ended) == (True, False)


def test_request_whose_body_has_arrived_does_not_end(bytes_in_flight: BytesInFlight) -> None:
    running = waiting(bytes_in_flight, MOST)
    running.share.stop_waiting()
    late = Request(bytes_in_flight)
    late.share.wait_for_client(late.end)
    assert not late.share.grow(1)
    assert (running.ended, late.ended) == (0, 0)


def test_released_bytes_are_room_for_others(bytes_in_flight: BytesInFlight) -> None:
    running = waiting(bytes_in_flight, MOST)
    running.share.stop_waiting()
    running.share.release()
    waiting(bytes_in_flight, MOST)


def test_answer_takes_the_place_of_its_request(bytes_in_flight: BytesInFlight) -> None:
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
