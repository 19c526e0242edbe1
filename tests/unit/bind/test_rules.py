"""The rules that bind uses to count, and when bind refuses a pod because it cannot count."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import orjson
import pytest

from berth.bind.announcing import Announcements
from berth.bind.rules import NOT_HELD, REFRESH_SECONDS, RETRY_SECONDS, TAKEOVER, CountingRight, RulesInForce
from berth.bind.share import Reservations
from berth.configuration.store import Configurations, CountingLossCheck, CountingLost
from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import BindOutcome, BindResult
from berth.lease.lock import Lease, LeaseSpec
from berth.ledger.lease import counted_elsewhere
from berth.ledger.nodes.table import Marker, MarkerState
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.ledger_lease import IdentityInMemory, LeaseInMemory
from tests.fakes.published import PublishedCluster
from tests.unit.lease.clocks import EnvironmentClock

SLOT = "example.com/slot"
COUNTS: Mapping[str, object] = {"managedResources": [{"name": SLOT}]}
COUNTS_NOTHING: Mapping[str, object] = {"profile": "full"}


class NoAnnouncements(Announcements):
    """Does not announce pods."""

    def __init__(self) -> None:
        pass


class Bind:
    """A bind environment whose deployed configuration does not count resources, and a ledger that counts."""

    def __init__(self, refresh_seconds: float = REFRESH_SECONDS) -> None:
        self.clock = EnvironmentClock()
        self.cluster = PublishedCluster()
        self.store = InMemoryConfigurationStore(self.cluster.item)
        self.ledger = InMemoryLedgerTable()
        self.ledger.put_marker(Marker(MarkerState.READY, 1, 0.0, "nonce"), None)
        self.outage = False
        self.reads = 0
        self.warnings: list[str] = []
        self.counting = RulesInForce(
            self._hash,
            Configurations(self.store, BerthConfiguration),
            Reservations(self.ledger, lambda: "id", time.time, call_seconds=1),
            self.clock,
            self.warnings.append,
            CountingLossCheck(self.ledger.marker, self.store.counting_is_stopped, self.clock),
            NoAnnouncements(),
            refresh_seconds=refresh_seconds,
        )

    def _hash(self) -> str:
        self.reads += 1
        if self.outage:
            raise TableUnavailable("the table is throttled")
        return self.cluster.table.configuration_hash()

    def apply(self, document: Mapping[str, object], *, stops_counting: bool = False) -> None:
        self.store.apply(orjson.dumps(document).decode(), stops_counting=stops_counting)
        self.clock.advance(REFRESH_SECONDS)

    def lose_configuration(self) -> None:
        self.cluster.item.delete()
        self.clock.advance(REFRESH_SECONDS)


def test_uses_the_applied_configuration_to_count() -> None:
    bind = Bind()
    bind.apply(COUNTS)
    assert bind.counting.current().counted is not None


@pytest.mark.parametrize(
    ("document", "announces"),
    [
        pytest.param({"profile": "label-priority"}, False, id="nodes alone"),
        pytest.param({"profile": "resource-segregation"}, False, id="nodes and their labels"),
        pytest.param({"profile": "managed-resources"}, False, id="resources that the ledger counts"),
        pytest.param({"profile": "full"}, True, id="other pods"),
        pytest.param({"profiles": {"batch": "full"}}, True, id="other pods, for one scheduler"),
    ],
)
def test_announces_only_if_a_rule_depends_on_other_pods(document: Mapping[str, object], announces: bool) -> None:
    bind = Bind()
    bind.apply({**COUNTS, **document})
    assert (bind.counting.current().announcements is not None) is announces


@pytest.mark.parametrize(
    ("refresh_seconds", "age", "announces"),
    [
        pytest.param(REFRESH_SECONDS, REFRESH_SECONDS - 0.1, False, id="previous document until it is 10 s old"),
        pytest.param(REFRESH_SECONDS, REFRESH_SECONDS, True, id="applied document after 10 s"),
        pytest.param(0.0, 0.0, True, id="applied document at once in the process of its store"),
    ],
)
def test_warm_environment_uses_an_applied_document_after_the_refresh_interval(
    refresh_seconds: float, age: float, announces: bool
) -> None:
    bind = Bind(refresh_seconds)
    bind.apply(COUNTS)
    assert bind.counting.current().announcements is None
    bind.store.apply(orjson.dumps({**COUNTS, "profile": "full"}).decode())
    bind.clock.advance(age)
    assert (bind.counting.current().announcements is not None) is announces


def test_cold_environment_raises_while_the_configuration_is_lost() -> None:
    with pytest.raises(CountingLost):
        Bind().counting.current()


def test_warm_environment_raises_after_the_configuration_was_lost() -> None:
    bind = Bind()
    bind.apply(COUNTS)
    bind.counting.current()
    bind.lose_configuration()
    for _ in range(2):
        with pytest.raises(CountingLost):
            bind.counting.current()


def test_raises_if_a_document_does_not_count_unless_counting_was_stopped() -> None:
    bind = Bind()
    bind.apply(COUNTS_NOTHING)
    with pytest.raises(CountingLost):
        bind.counting.current()
    bind.apply(COUNTS_NOTHING, stops_counting=True)
    assert bind.counting.current().counted is None


def test_counts_again_after_the_configuration_was_restored() -> None:
    bind = Bind()
    with pytest.raises(CountingLost):
        bind.counting.current()
    bind.apply(COUNTS)
    assert bind.counting.current().counted is not None


def warm_with_other_document_applied() -> Bind:
    """Return a Bind that has read a document without rules about other pods, and is due to read the next one."""
    bind = Bind()
    bind.apply(COUNTS)
    bind.counting.current()
    bind.store.apply(orjson.dumps({**COUNTS, "profile": "full"}).decode())
    bind.clock.advance(REFRESH_SECONDS)
    return bind


def test_uses_the_last_known_document_while_the_table_is_unavailable() -> None:
    bind = warm_with_other_document_applied()
    bind.outage = True
    assert bind.counting.current().announcements is None
    assert bind.warnings == ["the table is throttled; what was counted before is counted"]


@pytest.mark.parametrize(
    ("seconds", "announces", "reads"),
    [
        pytest.param(RETRY_SECONDS - 0.1, False, 2, id="no read before the retry interval has passed"),
        pytest.param(RETRY_SECONDS, True, 3, id="the applied document, soon after the outage"),
    ],
)
def test_reads_the_document_again_soon_after_a_failure(seconds: float, announces: bool, reads: int) -> None:
    """`config apply` waits for one refresh interval only, so a failure must not add another interval."""
    bind = warm_with_other_document_applied()
    bind.outage = True
    bind.counting.current()
    bind.outage = False
    bind.clock.advance(seconds)
    assert (bind.counting.current().announcements is not None) is announces
    assert bind.reads == reads


def test_cold_environment_raises_while_the_table_is_unavailable() -> None:
    bind = Bind()
    bind.outage = True
    with pytest.raises(TableUnavailable):
        bind.counting.current()


# bind may reserve only if its store holds the Lease of the ledger and has finished the takeover.

HELD = Lease(LeaseSpec("store-1", 30, 0.0, 0.0, 4), 9, "lease-1", "")


def lease_of(holder: str, counting_transition: int | None = 4) -> LeaseInMemory:
    lease = LeaseInMemory()
    lease.stored = replace(HELD, spec=replace(HELD.spec, holder_identity=holder))
    lease.counting_transition = counting_transition
    return lease


@pytest.mark.parametrize(
    ("lease", "identity", "result"),
    [
        pytest.param(lease_of("store-1"), "store-1", None, id="this store holds the lease and counts"),
        pytest.param(lease_of("store-1", None), "store-1", TAKEOVER, id="the takeover is not finished"),
        pytest.param(lease_of("store-1", 3), "store-1", TAKEOVER, id="the mark is of an earlier transition"),
        pytest.param(
            lease_of("store-2"),
            "store-1",
            BindResult(BindOutcome.COUNTED_ELSEWHERE, counted_elsewhere("store-2")),
            id="another store holds the lease",
        ),
        pytest.param(
            lease_of("store-2"),
            None,
            BindResult(BindOutcome.COUNTED_ELSEWHERE, counted_elsewhere("store-2")),
            id="another store holds the lease and this one has no identity",
        ),
        pytest.param(lease_of(""), "store-1", NOT_HELD, id="nobody holds the lease"),
        pytest.param(lease_of(""), None, NOT_HELD, id="nobody holds the lease and this store has no identity"),
        pytest.param(LeaseInMemory(exists=False), "store-1", NOT_HELD, id="the lease does not exist"),
    ],
)
def test_only_a_holder_with_a_finished_takeover_may_reserve(
    lease: LeaseInMemory, identity: str | None, result: BindResult | None
) -> None:
    assert CountingRight(lease, IdentityInMemory(identity)).refusal(1.0) == result


def test_refuses_while_the_lease_cannot_be_read() -> None:
    lease = lease_of("store-1")
    lease.unavailable = "the API server does not answer"
    check = CountingRight(lease, IdentityInMemory("store-1"))
    assert check.refusal(1.0) == BindResult(BindOutcome.LEDGER_UNAVAILABLE, "the API server does not answer")


class _Counting(IdentityInMemory):
    reads = 0

    def get(self) -> str | None:
        self.reads += 1
        return super().get()


def test_reads_the_identity_only_once_while_it_matches_the_holder() -> None:
    store = _Counting("store-1")
    check = CountingRight(lease_of("store-1"), store)
    assert [check.refusal(1.0), check.refusal(1.0)] == [None, None]
    assert store.reads == 1


def test_reads_the_new_identity_after_the_table_was_lost() -> None:
    lease, store = lease_of("store-1"), IdentityInMemory("store-1")
    check = CountingRight(lease, store)
    assert check.refusal(1.0) is None
    store.identity, lease.stored = "store-9", replace(HELD, spec=replace(HELD.spec, holder_identity="store-9"))
    assert check.refusal(1.0) is None


class _NoTable(IdentityInMemory):
    def get(self) -> str | None:
        raise TableUnavailable("ledger table: no answer")


def test_refuses_while_the_identity_cannot_be_read() -> None:
    check = CountingRight(lease_of("store-1"), _NoTable())
    assert check.refusal(1.0) == BindResult(BindOutcome.LEDGER_UNAVAILABLE, "ledger table: no answer")
