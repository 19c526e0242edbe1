"""From several threads to one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag

import pytest

from berth.cluster.watch.watches import BoundedQueue
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_takes_all_items_in_order() -> None:
    mailbox: BoundedQueue[int] = BoundedQueue(10)
    assert [mailbox.put(item) for item in range(3)] == [True, True, True]
    assert mailbox.take(0) == [0, 1, 2]
    assert mailbox.take(0) == []


def test_first_item_wakes_consumer(pool: ThreadPoolExecutor) -> None:
    mailbox: BoundedQueue[str] = BoundedQueue(10)
    taking = pool.submit(mailbox.take, PATIENCE_SECONDS)
    mailbox.put("item")
    assert taking.result(PATIENCE_SECONDS) == ["item"]


def test_producer_waits_while_queue_is_full(pool: ThreadPoolExecutor) -> None:
    mailbox: BoundedQueue[tuple[int, int]] = BoundedQueue(2)

    def put(who: int) -> list[bool]:
        return [mailbox.put((who, item)) for item in range(50)]

    putting = [pool.submit(put, who) for who in range(3)]
    taken: list[tuple[int, int]] = []
    while len(taken) < 150:
        batch = mailbox.take(PATIENCE_SECONDS)
        assert 1 <= len(batch) <= 2
        taken += batch
    assert all(all(each.result(PATIENCE_SECONDS)) for each in putting)
    for who in range(3):
        assert [item for putter, item in taken if putter == who] == list(range(50))


def test_close_wakes_producers_and_consumers_and_keeps_items(pool: ThreadPoolExecutor) -> None:
    mailbox: BoundedQueue[int] = BoundedQueue(1)
    mailbox.put(1)
    begun = Flag()

    def put() -> bool:
        begun.set()
        return mailbox.put(2)

    putting = pool.submit(put)
    begun.wait(PATIENCE_SECONDS)
    mailbox.close()
    assert putting.result(PATIENCE_SECONDS) is False
    assert mailbox.put(3) is False
    assert mailbox.take(PATIENCE_SECONDS) == [1]
    assert mailbox.take(PATIENCE_SECONDS) == []
