"""`/api/health`: what `/healthz` answers, the leader, what is published, reservations, gangs, and calls over time.

Each question asks the source anew. The page asks every few seconds while it shows the answer.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

import orjson

from berth_cli.console.documents.feed import Feed
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.health.calls import NO_CALLS, Call, calls_over_time
from berth_cli.console.health.source import HealthSource
from berth_cli.console.http.access import Refusal
from berth_cli.console.http.application import Document, Query
from berth_cli.console.pending.gangs import GangSource

HEALTH = "/api/health"
MOST_SAMPLES = 300
SAMPLE_SECONDS = 2.0
KEPT_SECONDS = 1.5
"""Pages that ask at the same time get one answer."""


class HealthDocuments:
    """`source`: None for a dump or a cluster: these have neither cache nor ledger."""

    def __init__(
        self,
        feed: Feed,
        source: HealthSource | None,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        calls: Callable[[], Iterable[Call] | NotRead] = tuple,
        gangs: GangSource | None = None,
        sampling: str = "",
    ) -> None:
        """`wall`: seconds since the epoch. `monotonic`: seconds. `calls`: of the verbs, as far as they are known.
        `sampling`: which part of them that is, for people."""
        self._feed, self._source, self._wall, self._monotonic = feed, source, wall, monotonic
        self._calls, self._gangs, self._sampling = calls, gangs, sampling
        self._lock = Lock()
        self._samples: deque[tuple[float, float, int]] = deque(maxlen=MOST_SAMPLES)
        self._sampled_at = -SAMPLE_SECONDS
        self._last: tuple[float, bytes] | None = None

    @property
    def by_path(self) -> Mapping[str, Document]:
        """For the application."""
        return {HEALTH: self.health}

    def health(self, _: Query) -> bytes | Refusal:
        """Everything that is known now, and how old the data was at earlier questions."""
        with self._lock:
            now = self._monotonic()
            if self._last is None or now - self._last[0] > KEPT_SECONDS:
                self._last = now, orjson.dumps(self._content(now))
            return self._last[1]

    def _content(self, now: float) -> dict[str, object]:
        wall = self._wall()
        condition = self._feed.condition
        found: dict[str, object] = {"console": condition.document(wall)}
        if self._source is not None:
            found |= self._source.facts(wall)
        if self._gangs is not None:
            found |= _gangs(self._gangs.gangs(wall))
        found |= _calls(self._calls(), wall, self._sampling)
        age = condition.document(wall)["ageSeconds"]
        if isinstance(age, float) and now - self._sampled_at >= SAMPLE_SECONDS:
            self._sampled_at = now
            self._samples.append((round(wall, 1), round(age, 2), condition.sequence))
        # Time, age of the data, number of changes so far.
        return found | {"samples": list(self._samples)}


def _calls(found: Iterable[Call] | NotRead, wall: float, sampling: str) -> dict[str, object]:
    """Nothing where there was no call."""
    if isinstance(found, NotRead):
        return {"calls": {**NO_CALLS.document(), "problem": found.reason}}
    over_time = calls_over_time(found, wall)
    return {} if over_time is None else {"calls": over_time.document(sampling)}


def _gangs(found: Mapping[str, Any] | NotRead) -> dict[str, object]:
    """How many are in each state; nothing where gangs are not enabled."""
    if isinstance(found, NotRead):
        return {"gangs": {"problem": found.reason}}
    if not found["compared"] and not found["gangs"]:
        return {}
    states = Counter(each["state"] for each in found["gangs"])
    return {"gangs": {"count": len(found["gangs"]), "open": found["open"], "states": dict(sorted(states.items()))}}
