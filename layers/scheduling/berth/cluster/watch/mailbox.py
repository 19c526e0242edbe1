"""From several threads to one: a queue with a limit, whose waiting ends when it is closed."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Mailbox(Generic[Item]):
    """Keeps the order in which each thread put its items."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[Item] = deque()
        self._changed = Condition()
        self._closed = False

    def put(self, item: Item) -> bool:
        """Waits while the mailbox is full. False when it is closed; then the item is dropped."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._capacity)
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def take(self, timeout: float) -> list[Item]:
        """All there are, in order; waits up to `timeout` seconds for the first. Empty when none came."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._items), timeout)
            items = list(self._items)
            self._items.clear()
            self._changed.notify_all()
            return items

    def close(self) -> None:
        """Wake whoever waits. What has been put can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
