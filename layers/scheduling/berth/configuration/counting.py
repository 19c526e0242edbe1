"""What the applied configuration says for bind: counted resources, rules about other pods, gangs, and limits.

It is read at intervals only, so a bind may decide by the document before the applied one. `berth config apply` waits
until none does (config/effect_delay.py of the command).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from berth.configuration.counting_loss import CountingLossCheck
from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.dynamodb_errors import TableUnavailable
from berth.extender.ports import Announcements, CacheState, GangBarrier, Reservations
from berth.extender.prepared_bind import BindRules, CountedResources
from berth.lease.clock import Clock, Instant

REFRESH_SECONDS = 10.0
"""The age at which the configuration is read again from tables on a network; a warm bind reads none before."""

RETRY_SECONDS = 1.0
"""The same after a failed read. Shorter, because `berth config apply` waits for one interval only."""


@dataclass(frozen=True, slots=True)
class _Read:
    """at: when it began. seconds: for how long it is used."""

    rules: BindRules
    at: Instant
    seconds: float


class CountingConfiguration:
    """For one warm environment. Safe to share between threads."""

    def __init__(
        self,
        read_hash: Callable[[], str],
        configurations: Configurations,
        reservations: Reservations,
        clock: Clock,
        warn: Callable[[str], None],
        loss: CountingLossCheck,
        announcements: Announcements | None = None,
        gangs: Callable[[], GangBarrier] | None = None,
        refresh_seconds: float = REFRESH_SECONDS,
    ) -> None:
        """read_hash: of the applied configuration, from the head. warn: called with failures that the call survived.
        announcements: for configurations with rules about other pods; None where there is no log. gangs: for
        configurations that enable them; None where there is no table. refresh_seconds: the age at which it is read
        again; 0 where a read waits for nothing."""
        self._read_hash = read_hash
        self._configurations = configurations
        self._reservations = reservations
        self._announcements = announcements
        self._gangs = gangs
        self._clock = clock
        self._warn = warn
        self._loss = loss
        self._refresh_seconds = refresh_seconds
        self._last: _Read | None = None

    def current(self) -> BindRules:
        """The rules in force. While the table is unavailable, those of the last known configuration.

        Raises CountingLost where nothing is counted although the ledger counts, and TableUnavailable and
        ConfigurationInvalid where no configuration is known yet: a bind that does not count could assign a resource
        twice.
        """
        now, last = self._clock.now(), self._last
        if last is not None and now.longest_since(last.at) < last.seconds:
            return last.rules
        try:
            last = _Read(self._read(), now, self._refresh_seconds)
        except (TableUnavailable, ConfigurationInvalid) as error:
            if last is None:
                raise
            self._warn(f"{error}; what was counted before is counted")
            last = _Read(last.rules, now, min(RETRY_SECONDS, self._refresh_seconds))
        self._last = last
        return last.rules

    def _read(self) -> BindRules:
        applied = self._read_hash()
        configured = self._configurations.at(applied)
        counting = configured.policy.counting
        announcements = self._announcements if configured.policy.reads_other_pods else None
        gangs = self._gangs() if self._gangs is not None and configured.policy.gangs.enabled else None
        state = CacheState(configuration_hash=applied, decisions=configured.document.decisions)
        if counting.counts:
            counted = CountedResources(counting, self._reservations)
            return BindRules(counted, configured.bind, announcements, gangs, state)
        self._loss.raise_if_lost()
        return BindRules(None, configured.bind, announcements, gangs, state)
