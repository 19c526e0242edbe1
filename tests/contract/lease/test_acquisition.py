"""Acquisition of a lease on every implementation of the lock: client-go's cases first, then further cases."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from berth.lease.config import ElectionOutcome, Handover, LeaderElectionConfig
from tests.unit.lease.clocks import AT, EnvironmentClock
from tests.unit.lease.contenders import Contender, holder, pass_time
from tests.unit.lease.stores import LeaseStore, stored_lease

YEAR = 365 * 24 * 3600.0

BECAME_LEADER = ElectionOutcome.BECAME_LEADER
HELD = ElectionOutcome.HELD


class TestUpstreamAcquire:
    @pytest.mark.parametrize(
        ("item", "waited", "outcomes", "calls", "now_held"),
        [
            pytest.param(None, 0, [BECAME_LEADER], ["get", "create"], ("baz", 0), id="no object: acquired"),
            pytest.param({"version": 1}, 0, [BECAME_LEADER], ["get", "update"], ("baz", 1), id="no record: acquired"),
            pytest.param(
                stored_lease("bing", lease_duration_seconds=3),
                3,
                [HELD, BECAME_LEADER],
                ["get", "get", "update"],
                ("baz", 1),
                id="held by another: acquired after the lease duration it recorded",
            ),
            pytest.param(stored_lease(""), 0, [BECAME_LEADER], ["get", "update"], ("baz", 1), id="unheld: acquired"),
            pytest.param(
                stored_lease("bing"),
                1000 * 3600,
                [HELD, BECAME_LEADER],
                ["get", "get", "update"],
                ("baz", 1),
                id="held by another and long expired: acquired",
            ),
            pytest.param(
                stored_lease("", lease_duration_seconds=1, lease_transitions=4),
                0,
                [BECAME_LEADER],
                ["get", "update"],
                ("baz", 5),
                id="released a moment ago: acquired at once",
            ),
            pytest.param(stored_lease("bing"), 14.5, [HELD, HELD], ["get", "get"], ("bing", 0), id="not acquired"),
            pytest.param(
                stored_lease("baz", lease_transitions=4),
                0,
                [BECAME_LEADER],
                ["get", "update"],
                ("baz", 4),
                id="held by this candidate: renewed, no transition",
            ),
        ],
    )
    def test_acquires_or_renews_like_client_go(
        self, store: LeaseStore, item: Any, waited: float, outcomes: Any, calls: list[str], now_held: Any
    ) -> None:
        if item is not None:
            store.put(item)
        baz = Contender(store, "baz")
        found = [baz.step()]
        if len(outcomes) > 1:
            baz.clock.advance(waited)
            found.append(baz.step())
        assert found == outcomes
        assert baz.calls() == calls
        assert holder(store) == now_held
        assert baz.elector.leader == now_held[0]
        assert baz.events[-1 if now_held[0] == "bing" else -2] == ("leader", now_held[0])

    def test_new_record_belongs_to_the_new_holder(self, store: LeaseStore) -> None:
        store.put(stored_lease("", lease_transitions=4, resource_version=9, acquire_time=AT - 99, handover_at=AT - 9))
        baz = Contender(store, "baz", handover=Handover(at=AT + 800))
        baz.step()
        assert {name: value for name, value in store.attributes().items() if name != "nonce"} == {
            "holderIdentity": "baz",
            "leaseDurationSeconds": 15,
            "acquireTime": Decimal(AT),
            "renewTime": Decimal(AT),
            "leaseTransitions": 5,
            "handoverAt": Decimal(AT + 800),
            "resourceVersion": 10,
            "uid": "uid-1",
        }


class TestEpochFloor:
    """The lowest epoch of a new term comes from a store that outlives the head item and is fenced by epoch."""

    @pytest.mark.parametrize(
        ("item", "floor", "epoch"),
        [
            pytest.param(None, 0, 0, id="no item and no floor"),
            pytest.param(None, 7, 7, id="an item that was lost"),
            pytest.param({"version": 1}, 7, 7, id="an item without a record"),
            pytest.param(stored_lease("", lease_transitions=4), 7, 7, id="a record below the floor"),
            pytest.param(stored_lease("", lease_transitions=6), 7, 7, id="a record just below the floor"),
            pytest.param(stored_lease("", lease_transitions=7), 7, 8, id="a record at the floor"),
            pytest.param(stored_lease("", lease_transitions=90), 7, 91, id="a record above the floor"),
            pytest.param(stored_lease("baz", lease_transitions=4), 7, 4, id="its own claim keeps its epoch"),
        ],
    )
    def test_claims_at_least_the_lowest_epoch(self, store: LeaseStore, item: Any, floor: int, epoch: int) -> None:
        if item is not None:
            store.put(item)
        baz = Contender(store, "baz", epoch_floor=lambda: floor)
        assert baz.step() is BECAME_LEADER
        assert holder(store) == ("baz", epoch)
        fence = baz.fence()
        assert fence is not None
        assert fence.lease_transitions == epoch

    def test_reads_the_lowest_allowed_epoch_only_to_claim_the_lease(self, store: LeaseStore) -> None:
        reads: list[int] = []

        def floor() -> int:
            reads.append(1)
            return 7

        store.put(stored_lease("bing"))
        baz = Contender(store, "baz", epoch_floor=floor)
        assert baz.step() is HELD
        assert not reads
        baz.lead()
        assert len(reads) == 1


class TestExpiry:
    """A candidate decides with its own clocks, from its own first read, whether another holder's lease has expired."""

    @pytest.mark.parametrize("off", [-YEAR, YEAR], ids=["a year behind", "a year ahead"])
    @pytest.mark.parametrize("horizon", [float("inf"), 120.0], ids=["standby", "with a horizon"])
    def test_expiry_does_not_depend_on_the_holders_clock(self, store: LeaseStore, off: float, horizon: float) -> None:
        alpha = Contender(store, "alpha", clock=EnvironmentClock(AT + off))
        beta = Contender(store, "beta", handover=Handover(horizon=horizon))
        alpha.lead()
        assert beta.step() is HELD
        pass_time(14.5, alpha, beta)
        assert beta.step() is HELD
        pass_time(2, alpha, beta)
        assert beta.step() is BECAME_LEADER
        assert holder(store) == ("beta", 1)

    @pytest.mark.parametrize(
        ("recorded", "own"),
        [
            pytest.param(60, 15, id="longer than the candidate's"),
            pytest.param(3, 15, id="shorter than the candidate's"),
        ],
    )
    def test_waits_for_the_lease_duration_of_the_holder(self, store: LeaseStore, recorded: int, own: int) -> None:
        store.put(stored_lease("alpha", lease_duration_seconds=recorded))
        beta = Contender(store, "beta", config=LeaderElectionConfig(lease_duration=own))
        beta.step()
        beta.clock.advance(recorded - 0.5)
        assert beta.step() is HELD
        beta.clock.advance(2.0)
        assert beta.step() is BECAME_LEADER
        assert store["leaseDurationSeconds"] == own

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"renewTime": Decimal(AT + 10), "resourceVersion": Decimal(2)}, id="a renewal"),
            pytest.param({"renewTime": Decimal(AT - YEAR), "resourceVersion": Decimal(2)}, id="renewal from the past"),
            pytest.param({"resourceVersion": Decimal(2)}, id="a publication within the same microsecond"),
            pytest.param({"uid": "uid-2"}, id="recreated item"),
            pytest.param({"holderIdentity": "gamma"}, id="another holder"),
            pytest.param({"nonce": "a retry's"}, id="only the nonce"),
        ],
    )
    def test_changed_record_makes_the_candidate_wait_again(self, store: LeaseStore, change: dict[str, object]) -> None:
        store.put(stored_lease("alpha"))
        beta = Contender(store, "beta")
        beta.step()
        beta.clock.advance(14)
        store.put({**stored_lease("alpha"), **change})
        assert beta.step() is HELD
        beta.clock.advance(14.5)
        assert beta.step() is HELD
        beta.clock.advance(2)
        assert beta.step() is BECAME_LEADER

    def test_changed_node_cache_attributes_do_not_count_as_renewal(self, store: LeaseStore) -> None:
        store.put(stored_lease("alpha"))
        beta = Contender(store, "beta")
        beta.step()
        beta.clock.advance(14)
        store.put({**stored_lease("alpha"), "configurationHash": "f00"})
        beta.step()
        beta.clock.advance(2)
        assert beta.step() is BECAME_LEADER
