"""The gang table in memory, next to a ledger in memory. Every operation is atomic."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import Lock

from berth.ledger.gangs.item import Domain, GangItem, Intent
from berth.ledger.gangs.table import GangTable, LedgersRead, NotTransacted, Transaction
from berth.scheduling.gangs.gang import GangKey
from berth_cli.server.store.ledger_table import InMemoryLedgerTable


class InMemoryGangTable(GangTable):
    """A gang table in memory. Thread-safe."""

    def __init__(self, ledger: InMemoryLedgerTable) -> None:
        self._ledger = ledger
        # Acquire this lock before the ledger's lock.
        self._lock = Lock()
        self._gangs: dict[GangKey, GangItem] = {}
        self._domain = Domain()

    def gangs(self) -> Sequence[GangItem]:
        with self._lock:
            return [self._gangs[key] for key in sorted(self._gangs)]

    def gang(self, key: GangKey) -> GangItem | None:
        with self._lock:
            return self._gangs.get(key)

    def most_members(self, intent: Intent) -> int:
        return sys.maxsize

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        with self._lock:
            if not self._is_seen(item.key, seen):
                return False
            self._gangs[item.key] = item
            return True

    def delete(self, seen: GangItem) -> bool:
        with self._lock:
            if not self._is_seen(seen.key, seen):
                return False
            del self._gangs[seen.key]
            return True

    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        with self._lock:
            found = self._open(key, round_)
            if found is None:
                return None
            if intent.pod.uid not in found.intents and len(found.intents) >= self.most_members(intent):
                return None
            found = self._gangs[key] = found.joined(intent)
            return found

    def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
        with self._lock:
            found = self._open(key, round_)
            if found is None or found.intent(uid, attempt) is None:
                return None
            found = self._gangs[key] = found.without(uid)
            return found

    def domain(self) -> Domain:
        with self._lock:
            return self._domain

    def put_domain(self, domain: Domain, seen: Domain) -> bool:
        with self._lock:
            if not self._is_domain(seen):
                return False
            self._domain = domain
            return True

    def read_ledgers(self, nodes: Sequence[str]) -> LedgersRead:
        found = {node: self._ledger.node(node) for node in nodes}
        return LedgersRead({node: ledger for node, ledger in found.items() if ledger is not None})

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        closes = transaction.closes
        with self._lock:
            gang_changed = not self._is_seen(transaction.seen.key, transaction.seen)
            domain_changed = closes is not None and not self._is_domain(closes)
            if gang_changed or domain_changed:
                return NotTransacted(gang_changed, domain_changed)
            failed = self._ledger.write_together(transaction.ledgers)
            if failed is not None:
                return NotTransacted(owners=failed)
            if transaction.after is not None:
                self._gangs[transaction.after.key] = transaction.after
            if closes is not None:
                self._domain = closes.closed()
            return None

    def _open(self, key: GangKey, round_: int) -> GangItem | None:
        found = self._gangs.get(key)
        return found if found is not None and found.is_open_in(round_) else None

    def _is_seen(self, key: GangKey, seen: GangItem | None) -> bool:
        found = self._gangs.get(key)
        return (found and found.version) == (seen and seen.version)

    def _is_domain(self, seen: Domain) -> bool:
        return (self._domain.fence, self._domain.open) == (seen.fence, seen.open)
