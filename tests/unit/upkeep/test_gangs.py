"""The watcher's work on gangs: abandoned rounds, their reservations, and gangs without a live member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from berth.ledger.gangs.item import Domain, GangItem, GangState
from berth.ledger.gangs.table import Transaction
from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, PoolChange
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.gangs import EXPIRY_SECONDS, KEPT_SECONDS, POLL_SECONDS, GangEvent, GangEventType, GangWatch
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import TRAIN, claim, gang, intent
from tests.fakes.clock import HandDrivenClock
from tests.fakes.pods import PodsInMemory

AT = 1000.0
GPU = "example.com/gpu"
MEMBERS = [
    intent(f"train-{number}", f"n{number}", until=AT + 5, demands=(Demand(GPU, 1),), shares={GPU: 1})
    for number in range(2)
]
DOMAIN = Domain(claim(until=AT + 3600, opened_at=AT), 1)
DEGRADED = GangEvent(GangEventType.DEGRADED, TRAIN, 1, minimum=2, pods=tuple(member.pod for member in MEMBERS))


class World:
    """Two nodes with two devices each, and a watch over the gangs on them."""

    def __init__(self, item: GangItem | None, domain: Domain = DOMAIN) -> None:
        self.clock = HandDrivenClock(AT)
        self.ledger = InMemoryLedgerTable()
        self.gangs = InMemoryGangTable(self.ledger)
        self.pods = PodsInMemory()
        self.events: list[GangEvent] = []
        self.closed = 0
        self.on_nodes: set[str] = set()
        """The UIDs of the members on nodes, as published."""
        self.watch = GangWatch(
            self.gangs, self.pods, lambda key: self.on_nodes, self.clock, self.events.append, self._on_closed
        )
        for node in ("n0", "n1"):
            self.ledger.create(new_ledger(node, {GPU: 2}, {}, epoch=1))
        self.gangs.put_domain(domain, Domain())
        if item is not None:
            self.gangs.put(item, None)

    def _on_closed(self) -> None:
        self.closed += 1

    def hold(self, item: GangItem) -> None:
        """Reserve the share of the first member."""
        first = MEMBERS[0]
        held = Entry(first.pod, EntryState.RESERVED, first.attempt, {GPU: 1}, AT)
        change = NodeWrite((EntryChange(first.pod.uid, None, held),), {GPU: PoolChange(avail=-1, min_avail=1)})
        assert self.gangs.transact(Transaction(item, None, None, {"n0": change})) is None

    def state(self) -> GangState | None:
        """Return the state of the gang; None if it is forgotten."""
        item = self.gangs.gang(TRAIN)
        return None if item is None else item.state

    def after(self, seconds: float) -> GangState | None:
        """Let this many seconds pass and the watch work once, and return the state."""
        self.clock.advance(seconds)
        self.watch.work()
        return self.state()


def in_state(state: GangState) -> GangItem:
    return gang(MEMBERS, state=state, at=AT)


@pytest.mark.parametrize(
    ("state", "seconds", "after"),
    [
        pytest.param(GangState.OPEN, EXPIRY_SECONDS - 1, GangState.OPEN, id="a young round stays open"),
        pytest.param(GangState.OPEN, EXPIRY_SECONDS, GangState.ENDED, id="a round without waiting members ends"),
        pytest.param(GangState.PREPARING, EXPIRY_SECONDS - 1, GangState.PREPARING, id="a coordinator gets its time"),
        pytest.param(GangState.PREPARING, EXPIRY_SECONDS, GangState.ENDED, id="a dead coordinator"),
        pytest.param(GangState.ROLLING_BACK, POLL_SECONDS, GangState.ENDED, id="an abandoned rollback"),
        pytest.param(GangState.ENDED, KEPT_SECONDS - 1, GangState.ENDED, id="an ended round is kept for a while"),
        pytest.param(GangState.ENDED, KEPT_SECONDS, None, id="an ended round is deleted later"),
    ],
)
def test_ends_rounds_whose_calls_no_longer_wait(state: GangState, seconds: float, after: GangState | None) -> None:
    assert World(in_state(state)).after(seconds) is after


def test_keeps_a_round_while_a_member_waits() -> None:
    world = World(gang([replace(MEMBERS[0], until=AT + 2 * EXPIRY_SECONDS)], at=AT))
    assert world.after(EXPIRY_SECONDS) is GangState.OPEN
    assert world.events == []


@pytest.mark.parametrize("state", [GangState.PREPARING, GangState.ROLLING_BACK])
def test_releases_reservations_of_an_ended_round(state: GangState) -> None:
    world = World(in_state(state))
    world.hold(in_state(state))
    assert world.after(EXPIRY_SECONDS) is GangState.ENDED
    assert [ledger.avail for ledger in world.ledger.nodes()] == [{GPU: 2}, {GPU: 2}]
    assert world.closed


class TestExpiryOfReservations:
    """The check of a gang's round before an old reservation is released."""

    OLD = OpenReservation(MEMBERS[0].pod, "n0", MEMBERS[0].attempt, {GPU: 1}, AT)

    @pytest.mark.parametrize(
        ("state", "after"),
        [
            pytest.param(GangState.PREPARING, GangState.ENDED, id="a preparing round is ended first"),
            pytest.param(GangState.ROLLING_BACK, GangState.ENDED, id="a rollback is completed first"),
            pytest.param(GangState.COMMITTED, GangState.COMMITTED, id="a commit stays"),
            pytest.param(GangState.OPEN, GangState.OPEN, id="an open round stays open"),
        ],
    )
    def test_ends_the_round_that_could_still_commit_the_reservation(self, state: GangState, after: GangState) -> None:
        world = World(in_state(state))
        assert world.watch.expiry_check()(self.OLD)
        assert world.state() is after

    def test_does_not_end_the_round_of_another_attempt(self) -> None:
        world = World(in_state(GangState.PREPARING))
        assert world.watch.expiry_check()(replace(self.OLD, attempt="earlier"))
        assert world.state() is GangState.PREPARING

    @pytest.mark.parametrize("state", GangState)
    def test_reads_the_gangs_once_per_step_for_all_reservations(
        self, monkeypatch: pytest.MonkeyPatch, state: GangState
    ) -> None:
        world = World(gang([intent(f"train-{number}", until=AT + 5) for number in range(100)], state=state, at=AT))
        reads = Counter[str]()

        def counted(name: str) -> Callable[..., Any]:
            method = getattr(world.gangs, name)

            def call(*arguments: object) -> object:
                reads[name] += 1
                return method(*arguments)

            return call

        for name in ("gangs", "gang", "put"):
            monkeypatch.setattr(world.gangs, name, counted(name))
        may_expire = world.watch.expiry_check()
        pods = [PodKey("ml", f"train-{number}", f"uid-train-{number}") for number in range(100)]
        assert all(may_expire(OpenReservation(pod, "n0", f"attempt-{pod.name}", {}, AT)) for pod in pods)
        assert (reads["gangs"], reads["gang"]) == (1, 0)
        assert reads["put"] <= 2

    def test_does_not_release_reservations_of_a_round_that_changed_since_the_read(self) -> None:
        """The round may have been committed since the read; the next check reads it again."""
        item = in_state(GangState.PREPARING)
        world = World(item)
        may_expire = world.watch.expiry_check()
        world.gangs.put(item.changed(GangState.COMMITTED, AT), item)
        assert not may_expire(self.OLD)
        assert not may_expire(replace(self.OLD, pod=MEMBERS[1].pod, attempt=MEMBERS[1].attempt))
        assert world.state() is GangState.COMMITTED
        assert world.watch.expiry_check()(self.OLD)


def test_ended_round_is_kept_without_members() -> None:
    """filter reads the items of all gangs, so an item that is only kept must be small."""
    world = World(in_state(GangState.ENDED))
    assert world.after(EXPIRY_SECONDS) is GangState.ENDED
    item = world.gangs.gang(TRAIN)
    assert item is not None
    assert item.intents == {}


class TestDomain:
    """A call dies after its write to the domain, and its gang is never tried again."""

    OTHER_ROUND = replace(DOMAIN, fence=2)

    @pytest.mark.parametrize(
        ("item", "domain", "seconds", "is_open"),
        [
            pytest.param(None, DOMAIN, EXPIRY_SECONDS, False, id="the round never began"),
            pytest.param(None, DOMAIN, EXPIRY_SECONDS - 1, True, id="its call may still begin it"),
            pytest.param(in_state(GangState.ENDED), OTHER_ROUND, EXPIRY_SECONDS, False, id="an earlier round ended"),
            pytest.param(
                gang(MEMBERS, at=AT - 100), OTHER_ROUND, EXPIRY_SECONDS, False, id="an earlier round was left open"
            ),
            pytest.param(
                gang([replace(MEMBERS[0], until=AT + 99)], at=AT), DOMAIN, EXPIRY_SECONDS, True, id="a member waits"
            ),
        ],
    )
    def test_domain_is_closed_if_the_round_of_the_open_gang_is_missing(
        self, item: GangItem | None, domain: Domain, seconds: float, is_open: bool
    ) -> None:
        world = World(item, domain)
        world.after(seconds)
        assert (world.gangs.domain().open is not None) is is_open
        assert bool(world.closed) is not is_open

    def test_domain_stays_open_if_the_round_began_after_the_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        world = World(None)
        begun = gang([replace(MEMBERS[0], until=AT + 99)], at=AT)
        listed = world.gangs.gangs

        def gangs() -> list[GangItem]:
            found = [*listed()]
            world.gangs.put(begun, None)
            return found

        monkeypatch.setattr(world.gangs, "gangs", gangs)
        world.after(EXPIRY_SECONDS)
        assert world.gangs.domain() == DOMAIN


class TestCommitted:
    """The watch of a committed gang."""

    @staticmethod
    def world(*nodes: str, published: tuple[int, ...] = ()) -> World:
        """Add members on these nodes (empty: unbound). published: the numbers of the members on nodes in the cache."""
        world = World(in_state(GangState.COMMITTED), DOMAIN.closed())
        for member, node in zip(MEMBERS, nodes, strict=False):
            world.pods.add(member.pod.name, member.pod.uid, {}, node=node)
        world.on_nodes = {MEMBERS[number].pod.uid for number in published}
        return world

    @pytest.mark.parametrize(
        ("world", "state", "events"),
        [
            pytest.param(("n0", "n1", (0, 1)), None, [], id="all members are on nodes"),
            pytest.param(("n0", "", (0,)), None, [DEGRADED], id="one member never reached its node"),
            pytest.param(
                ("n0", "", ()), GangState.COMMITTED, [DEGRADED], id="the cache does not show the member on its node"
            ),
            pytest.param(("n0", "n1", ()), GangState.COMMITTED, [], id="the cache does not show the members yet"),
            pytest.param(("", "", ()), None, [replace(DEGRADED, members=0)], id="no member reached its node"),
            pytest.param((), None, [GangEvent(GangEventType.FORGOTTEN, TRAIN)], id="no member is alive"),
        ],
    )
    def test_committed_gang_is_kept_while_the_cache_does_not_show_its_placed_members(
        self, world: tuple[Any, ...], state: GangState | None, events: list[GangEvent]
    ) -> None:
        *nodes, published = world or ((),)
        found = self.world(*nodes, published=published)
        assert found.after(EXPIRY_SECONDS - 1) is GangState.COMMITTED
        assert found.after(1.0) is state
        assert found.after(POLL_SECONDS) is state
        assert found.events == events

    @pytest.mark.parametrize(
        ("published", "changes", "events"),
        [
            pytest.param(
                (0,), {"train-1": {"deleting": True}}, [replace(DEGRADED, pods=(MEMBERS[0].pod,))], id="one is deleted"
            ),
            pytest.param((0,), {"train-1": {"phase": "Succeeded"}}, [], id="one has finished"),
            pytest.param(
                (),
                {"train-0": {"deleting": True}, "train-1": {"deleting": True}},
                [GangEvent(GangEventType.FORGOTTEN, TRAIN)],
                id="all are deleted",
            ),
            pytest.param(
                (),
                {"train-0": {"uid": "another"}, "train-1": {"deleting": True}},
                [GangEvent(GangEventType.FORGOTTEN, TRAIN)],
                id="another pod has the name of one",
            ),
        ],
    )
    def test_deleted_members_do_not_count_and_finished_members_count_as_placed(
        self, published: tuple[int, ...], changes: dict[str, dict[str, Any]], events: list[GangEvent]
    ) -> None:
        world = self.world("n0", "n1", published=published)
        for name, fields in changes.items():
            world.pods.change(name, **fields)
        assert world.after(EXPIRY_SECONDS) is None
        assert world.events == events

    def test_gang_is_not_degraded_if_a_replacement_is_on_a_node(self) -> None:
        world = self.world("n0")
        world.on_nodes.add("uid-of-a-replacement")
        assert world.after(EXPIRY_SECONDS) is None
        assert world.events == []

    def test_does_not_read_members_if_the_cache_shows_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        world = self.world("n0", "n1", published=(0, 1))
        monkeypatch.setattr(world.pods, "find", lambda pod: pytest.fail(f"asked for {pod}"))
        assert world.after(EXPIRY_SECONDS) is None

    def test_reads_members_again_after_a_minute_while_the_cache_does_not_show_them(self) -> None:
        world = self.world("n0", "n1")
        asked: list[PodKey] = []
        find = world.pods.find
        world.pods.find = lambda pod: asked.append(pod) or find(pod)  # type: ignore[method-assign,func-returns-value]
        for _ in range(4):
            world.after(EXPIRY_SECONDS)
        assert len(asked) == 2 * 2

    def test_wakes_the_queue_and_reports_the_time_to_commit(self) -> None:
        world = World(in_state(GangState.OPEN))
        world.watch.work()
        committed = in_state(GangState.OPEN).changed(GangState.COMMITTED, AT + 1.5)
        world.gangs.put(committed, in_state(GangState.OPEN))
        assert world.after(2.0) is GangState.COMMITTED
        assert world.events == [GangEvent(GangEventType.COMMITTED, TRAIN, 2, 1.5)]
        assert world.closed == 1

    def test_reports_a_gang_committed_between_two_steps(self) -> None:
        world = World(in_state(GangState.OPEN))
        world.watch.work()
        other = gang(MEMBERS, key=GangKey("ml", "other"), state=GangState.COMMITTED, at=AT)
        world.gangs.put(other, None)
        world.after(2.0)
        assert world.events == [
            GangEvent(GangEventType.OPENED, other.key),
            GangEvent(GangEventType.COMMITTED, other.key, 2),
        ]

    def test_does_not_report_again_after_a_change_of_leader(self) -> None:
        world = World(in_state(GangState.COMMITTED))
        world.watch.work()
        assert world.events == []


def test_reports_the_waiting_members_when_a_round_ends() -> None:
    world = World(in_state(GangState.OPEN))
    world.after(EXPIRY_SECONDS)
    [event] = world.events
    assert (event.type, event.pods) == (GangEventType.TIMED_OUT, tuple(member.pod for member in MEMBERS))
