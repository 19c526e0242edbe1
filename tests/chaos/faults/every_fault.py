"""Every fault of a round, with its checks during and after the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from berth_cli.installation.doctor.findings import CheckName
from tests.chaos.checks import Checks, Finding
from tests.chaos.faults.calls import (
    answers_are_lost,
    api_fails,
    api_is_away,
    everything_fails,
    tables_fail,
    tables_throttled,
    watches_expire,
)
from tests.chaos.faults.cluster import another_store, burst, lease_deleted, namespace_deleted, nodes_come_and_go
from tests.chaos.faults.owners import owners_edit, pods_grow
from tests.chaos.faults.processes import (
    all_killed,
    clock,
    frozen,
    killed,
    scheduler_frozen,
    scheduler_killed,
    server_frozen,
    server_killed,
    tables_frozen,
)
from tests.chaos.faults.tables import (
    both_tables_lost,
    cache_emptied,
    cache_lost_after_ledger,
    cache_table_lost,
    head_lost,
    ledger_lost_after_cache,
    ledger_table_lost,
)
from tests.chaos.set_up import SetUp

HOUR = 3600.0
EPOCH = 3
"""The least number of lease transitions before the head or a table is lost."""


@dataclass(frozen=True)
class Fault:
    """seconds: its duration. named: doctor must report one of these checks meanwhile; empty: it does not run meanwhile.

    recovery_seconds: time after the fault's end in which all checks must hold again.
    """

    name: str
    does: Callable[[SetUp], AbstractContextManager[None]]
    seconds: float
    recovery_seconds: float = 60
    named: frozenset[CheckName] = frozenset()
    epoch: int = 0
    """The least epoch of the lease before the fault begins."""

    meanwhile: Callable[[Checks], Sequence[Finding]] | None = None
    """Returns the findings of a check that must hold before the fault ends."""

    keeps_rules: bool = True
    """Whether rules about other pods hold meanwhile. They need the log of announcements, clocks that agree, and labels
    that the cache has: docs/concepts/rules-about-pods.md, "The guarantee"."""


NOT_THERE = frozenset({CheckName.VERBS, CheckName.CACHE})
NO_CACHE = frozenset({CheckName.CACHE, CheckName.WATCHER, CheckName.TABLE, CheckName.FILTER_VERB})

FAULTS: Sequence[Fault] = (
    Fault("berth-killed", killed(0), 5, named=NOT_THERE),
    Fault("both-berths-killed", killed(0, 1), 5, named=NOT_THERE),
    Fault("berth-frozen", frozen(0), 20),
    Fault("both-berths-frozen", frozen(0, 1), 20),
    Fault("scheduler-killed", scheduler_killed, 4),
    Fault("scheduler-frozen", scheduler_frozen, 10),
    Fault("all-killed", all_killed, 3),
    Fault("api-server-frozen", server_frozen("kube-apiserver"), 10, 90),
    Fault("etcd-frozen", server_frozen("etcd"), 10, 90),
    Fault("api-server-killed", server_killed("kube-apiserver"), 5, 120),
    Fault("etcd-killed", server_killed("etcd"), 5, 90),
    Fault("tables-frozen", tables_frozen, 10, 90),
    Fault("api-faults", api_fails, 12, 90),
    Fault("api-away", api_is_away, 10, 90),
    Fault("table-faults", tables_fail, 12, 90),
    Fault("tables-throttled", tables_throttled, 12, 90),
    Fault("answers-lost", answers_are_lost, 12, 90),
    Fault("everything-fails", everything_fails, 10, 90),
    Fault("watches-expired", watches_expire, 6),
    Fault("head-lost", head_lost, 10, 60, epoch=EPOCH),
    Fault("cache-emptied", cache_emptied, 20, 90, epoch=EPOCH),
    Fault("cache-table-lost", cache_table_lost, 8, 90, NO_CACHE, EPOCH),
    Fault("ledger-table-lost", ledger_table_lost, 6, 120, epoch=EPOCH, keeps_rules=False),
    Fault("both-tables-lost", both_tables_lost, 6, 150, NO_CACHE, EPOCH, keeps_rules=False),
    Fault("ledger-lost-after-cache", ledger_lost_after_cache, 6, 150, epoch=EPOCH, keeps_rules=False),
    Fault("cache-lost-after-ledger", cache_lost_after_ledger, 6, 150, epoch=EPOCH, keeps_rules=False),
    Fault("clock-ahead", clock(HOUR), 6, named=frozenset({CheckName.CLOCK}), keeps_rules=False),
    Fault("clock-behind", clock(-HOUR), 6, named=frozenset({CheckName.CLOCK}), keeps_rules=False),
    Fault("nodes-come-and-go", nodes_come_and_go, 5),
    Fault("namespace-deleted", namespace_deleted, 4),
    Fault("burst-of-two-schedulers", burst, 6),
    Fault("owners-edit-annotations", owners_edit, 15),
    Fault("pods-grow", pods_grow, 10, 90, meanwhile=Checks.reduced_pods, keeps_rules=False),
    Fault("lease-deleted", lease_deleted, 15),
    Fault("another-store", another_store, 10),
)
