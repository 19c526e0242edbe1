"""How fast to write much data to a DynamoDB table whose throughput nobody knows.

A new on-demand table takes 4,000 write units a second, each of its partitions 1,000, and an older table takes more. It
refuses what is above. A refused request costs nothing but time, and it competes with the writer's own lease.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

WRITE_UNIT = 1024
"""Bytes."""

_SECONDS = 0.25
_LEAST = 250.0
_FASTER_AT_FIRST = 1.5
_FASTER = 1.05
_SLOWER = 0.7


@dataclass(slots=True)
class WritePace:
    """The rate of one writer, in write units a second. It grows until the table throttles, then slowly.

    The first rate is half of what a new table takes. The slowest is a quarter of what one partition takes.
    """

    rate: float = 2_000.0
    is_limit_known: bool = False

    def count(self, sizes: Iterable[int]) -> int:
        """How many items of these sizes in bytes to write at once, before the next wait; at least one."""
        return 1 + sum(self.seconds(size) < _SECONDS for size in accumulate(sizes))

    def seconds(self, size: int) -> float:
        return size / WRITE_UNIT / self.rate

    def adapt(self, *, throttled: bool) -> None:
        """After each group. throttled: the table refused a part of it."""
        if throttled:
            self.is_limit_known = True
            self.rate = max(_LEAST, self.rate * _SLOWER)
        else:
            self.rate *= _FASTER if self.is_limit_known else _FASTER_AT_FIRST
