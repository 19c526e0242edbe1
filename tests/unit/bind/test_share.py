"""The ledger entry after bind created its Binding: the pod's actual shares, even if the owner edits the pod."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.bind.answer import bind
from berth.bind.rules import BindRules, CountedResources
from berth.bind.share import NO_LEDGER, Request, Reservation, Reservations
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import Ledger, new_ledger
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import NotWritten, Written
from berth.pods import Binding, Created, PodBinder, Refused, Unanswered
from berth.scheduling.managed_resources.demand import Demand
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.contract.ledger.ledgers import reserve
from tests.fakes.counted_cluster import COUNTING, DEVICE, DEVICES_BY_ANNOTATION, FIRST, NAMESPACE, REQUEST, SECOND, SLOT
from tests.unit.bind.pool_world import Answering
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

BOTH = {FIRST: 3, SECOND: 6}


class CountingTable(InMemoryLedgerTable):
    """Counts the calls that bind makes."""

    calls = 0

    def node(self, name):  # type: ignore[no-untyped-def]
        self.calls += 1
        return super().node(name)

    def write(self, node, change):  # type: ignore[no-untyped-def]
        self.calls += 1
        return super().write(node, change)

    def put_open(self, reservation):  # type: ignore[no-untyped-def]
        self.calls += 1
        super().put_open(reservation)


class TwoAttempts:
    """A pod whose first attempt to bind reserved 3 slots of the first device, and died before its Binding. Then its
    owner raised the request to 6, for which only the second device has room.
    """

    def __init__(self) -> None:
        self.table = CountingTable()
        self.harness = ReconcilerHarness(counting=DEVICES_BY_ANNOTATION, table=self.table)
        self.harness.node(8)
        self.harness.publish()
        self.leader = self.harness.lead()
        self.harness.run(self.leader, 1)
        cluster = self.harness.cluster
        cluster.create_pod("other", 4)
        cluster.annotate("other", DEVICE, "0")
        cluster.place("other", NODE)
        self.harness.publish(self.leader)
        self.harness.run(self.leader, 1)
        self.pod = cluster.create_pod("a", 3)
        self.first = self.reserve(3)
        cluster.annotate("a", REQUEST, "6")

    @property
    def reservations(self) -> Reservations:
        return Reservations(
            self.table, lambda: f"attempt-{next(self.harness.attempts)}", self.harness.clock, call_seconds=0.1
        )

    def reserve(self, units: int) -> Reservation:
        """Run the steps of a bind before its Binding."""
        found = self.reservations.reserve(
            self.binding(), Request((Demand(SLOT, units),)), DEVICES_BY_ANNOTATION, lambda: HTTP_TIMEOUT
        )
        assert isinstance(found, Reservation)
        return found

    def binding(self) -> Binding:
        return Binding(NAMESPACE, "a", self.pod.uid, NODE)

    def bind(self, binder: PodBinder | None = None) -> BindOutcome:
        rules = BindRules(CountedResources(DEVICES_BY_ANNOTATION, self.reservations))
        deadline = Deadline(HTTP_TIMEOUT - 1, self.harness.clock)
        return bind(self.binding(), binder or self.harness.cluster, deadline, rules).outcome

    def carried_out(self, binding: Binding) -> Created | Refused | Unanswered:
        return self.harness.cluster.create_binding(binding, 1.0)

    def entry(self) -> Entry:
        return self.harness.ledger().entries[self.pod.uid]

    def confirm(self) -> None:
        """Let the watcher see the pod on its node."""
        self.harness.publish(self.leader)
        self.harness.run(self.leader, 5)
        assert self.entry().state is EntryState.BOUND


@pytest.fixture
def attempts() -> TwoAttempts:
    return TwoAttempts()


@pytest.mark.parametrize("device", ["0", "1", "200", "none", None])
def test_keeps_the_bound_device_if_the_owner_edits_before_confirmation(
    attempts: TwoAttempts, device: str | None
) -> None:
    assert attempts.bind() is BindOutcome.BOUND
    attempts.harness.cluster.annotate("a", DEVICE, device)

    attempts.confirm()

    assert attempts.entry().shares == {SECOND: 6}
    assert attempts.harness.ledger().avail == {FIRST: 4, SECOND: 2}
    assert attempts.table.open_reservations() == []


@pytest.mark.parametrize("device", ["0", "1", None])
def test_keeps_both_devices_if_the_response_to_the_binding_is_lost(attempts: TwoAttempts, device: str | None) -> None:
    def lost(binding: Binding) -> Unanswered:
        attempts.carried_out(binding)
        return Unanswered("timed out")

    assert attempts.bind(Answering(attempts.harness.cluster, lost)) is BindOutcome.ALREADY_BOUND
    attempts.harness.cluster.annotate("a", DEVICE, device)
    attempts.confirm()

    assert attempts.entry().shares == BOTH


def test_releases_both_devices_when_a_pod_with_surplus_ends(attempts: TwoAttempts) -> None:
    attempts.reserve(6)
    attempts.harness.cluster.place("a", NODE)
    attempts.confirm()
    assert attempts.entry().shares == BOTH

    attempts.harness.cluster.delete("a")
    attempts.harness.publish(attempts.leader)
    attempts.harness.run(attempts.leader, 1)

    assert attempts.harness.ledger().avail == {FIRST: 4, SECOND: 8}


def test_does_not_reduce_an_entry_that_the_watcher_confirmed_first(attempts: TwoAttempts) -> None:
    def confirmed_at_once(binding: Binding) -> Created | Refused | Unanswered:
        answer = attempts.carried_out(binding)
        attempts.confirm()
        return answer

    assert attempts.bind(Answering(attempts.harness.cluster, confirmed_at_once))

    assert attempts.entry().shares == BOTH
    assert attempts.entry().state is EntryState.BOUND


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_keeps_surplus_reservations_if_the_deadline_has_passed(attempts: TwoAttempts, seconds: float) -> None:
    reservation = attempts.reserve(6)
    assert reservation.has_surplus

    attempts.reservations.release_surplus(reservation, lambda: seconds)

    assert attempts.entry().shares == BOTH


def test_makes_additional_calls_only_for_surplus_reservations() -> None:
    """A second attempt that keeps the first attempt's device does not have a surplus."""
    attempts = TwoAttempts()
    attempts.harness.cluster.annotate("a", REQUEST, "3")
    attempts.table.calls = 0

    assert attempts.bind() is BindOutcome.BOUND

    assert attempts.entry().shares == {FIRST: 3}
    assert attempts.table.calls == 4, "a read, an open reservation, the entry that exists, and the take-over"


class TakenOverTable(InMemoryLedgerTable):
    """Carries out the first write, lets another bind take the entry over, and then loses the answer to the write."""

    is_lost = False

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        if self.is_lost:
            return super().write(node, change)
        self.is_lost = True
        super().write(node, change)
        found = self.node(node)
        assert found is not None
        [seen] = found.entries.values()
        assert reserve(Ledger(self), node, replace(seen, attempt="another bind"), seen=seen).done
        raise TableUnavailable("no answer")


def test_does_not_take_an_entry_back_after_a_lost_answer() -> None:
    """If this bind took the entry back, an expiry that has read the entry with this attempt's id would release it,
    although the other bind places the pod."""
    harness, table = ReconcilerHarness(), TakenOverTable()
    table.create(new_ledger(NODE, {SLOT: 4}, {}, 0))
    reservations = Reservations(table, lambda: "this bind", harness.clock, call_seconds=0.0)
    binding, request = Binding(NAMESPACE, "a", "uid-a", NODE), Request((Demand(SLOT, 1),))

    result = reservations.reserve(binding, request, COUNTING, lambda: HTTP_TIMEOUT)

    assert isinstance(result, BindResult)
    assert result.outcome is BindOutcome.CONTENDED
    ledger = table.node(NODE)
    assert ledger is not None
    assert ledger.entries["uid-a"].attempt == "another bind"


@pytest.mark.parametrize("is_rebuilt", [False, True], ids=["no ledger", "a ledger that is being rebuilt"])
def test_does_not_choose_a_device_without_a_usable_ledger(*, is_rebuilt: bool) -> None:
    table = InMemoryLedgerTable()
    if is_rebuilt:
        table.create(new_ledger(NODE, BOTH, {}, epoch=1))
        table.begin_rebuild(NODE, 1)
    reservations = Reservations(table, lambda: "attempt-1", lambda: 1.0, 0.0)
    request, binding = Request((Demand(SLOT, 3),)), Binding(NAMESPACE, "a", "uid-a", NODE)
    assert reservations.reserve(binding, request, DEVICES_BY_ANNOTATION, lambda: 60.0) == NO_LEDGER
    assert table.open_reservations() == []
