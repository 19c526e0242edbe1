"""Requests for gangs, announcements and records of decisions, simulated as in test_simulated_policies.py.

The protocols' own classes send the requests, to moto. IAM evaluates each action of a transaction. How AWS fills in
`dynamodb:LeadingKeys` for a transaction is not documented, so both possible ways have to be allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import pytest

from berth.ledger.dynamodb_announcements import PARTITION as ANNOUNCED
from berth.ledger.gangs.commit import CommitOutcome, GangCommit
from berth.ledger.gangs.dynamodb_item import PARTITION as GANG
from berth.ledger.gangs.item import GangItem, GangState
from berth.ledger.gangs.table import GangTable, Transaction
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, PoolChange
from berth.ledger.nodes.table import LedgerTable
from berth.runtime import aws_clients
from berth.runtime.aws_clients import CALLS
from berth.runtime.settings import PolicySettings
from berth.runtime.tables import Tables, dynamodb_tables
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.gangs import KEPT_SECONDS, GangWatch
from berth_cli.server.options import DynamoDBStore
from tests.builders.announcements import announcement
from tests.builders.gang_items import claim, gang, intent
from tests.deployment.permissions import DECISION, GRANTS
from tests.deployment.policy_simulator import Request, documents, refused, table
from tests.deployment.recorded_requests import RecordedRequests, as_function
from tests.deployment.template import Deployment
from tests.deployment.transform import transformed
from tests.fakes.clock import HandDrivenClock
from tests.fakes.moto_dynamodb import MotoDynamoDB
from tests.fakes.pods import PodsInMemory

pytestmark = pytest.mark.external

CACHE_TABLE, LEDGER_TABLE = "gang-requests-cache", "gang-requests-ledger"
TABLES = {CACHE_TABLE: table("CacheTable"), LEDGER_TABLE: table("LedgerTable")}
VERBS = ("FilterFunction", "FilterOnlyOneFunction", "PrioritizeFunction", "PreemptFunction")
NODES = ("n0", "n1")
GPU = "example.com/gpu"
COUNTING = Counting([ManagedResource.model_validate({"name": GPU})])
AT = 1_800_000_000.0
JUDGED = (GANG, ANNOUNCED, DECISION)


@pytest.fixture
def recorded() -> Iterator[RecordedRequests]:
    """Yield the requests of the code, without those of this test."""
    with as_function(""):
        yield RecordedRequests(TABLES)


@pytest.fixture
def tables(recorded: RecordedRequests) -> Tables:
    MotoDynamoDB().install(DynamoDBStore(CACHE_TABLE, LEDGER_TABLE))
    recorded.listen(aws_clients.SESSION)
    return dynamodb_tables(PolicySettings(cache_table=CACHE_TABLE, ledger_table=LEDGER_TABLE), CALLS)


@dataclass(frozen=True)
class Gangs:
    table: GangTable
    ledger: LedgerTable

    def open(self, name: str, amount: int = 1) -> GangItem:
        """Open a gang as bind does: both members wait."""
        key, before = GangKey("ml", name), self.table.domain()
        domain = before.opened_by(replace(claim(), key=key, until=AT + 60), AT)
        assert domain is not None
        assert self.table.put_domain(domain, before)
        item = gang(key=key, round_=domain.fence, at=AT)
        assert self.table.put(item, self.table.gang(key))
        for node in NODES:
            member = intent(f"{name}-{node}", node, until=AT + 30, demands=(Demand(GPU, amount),))
            assert self.table.join(key, item.round, member)
        found = self.table.gang(key)
        assert found is not None
        return found

    def abandon(self, item: GangItem) -> None:
        """Let the coordinator die after the first share is reserved."""
        preparing = item.changed(GangState.PREPARING, AT, coordinator="dead")
        domain = self.table.domain()
        assert self.table.transact(Transaction(item, preparing, domain, {})) is None
        member = next(iter(item.intents.values()))
        held = Entry(member.pod, EntryState.RESERVED, member.attempt, {GPU: 1}, AT)
        change = NodeWrite((EntryChange(member.pod.uid, None, held),), {GPU: PoolChange(avail=-1, min_avail=1)})
        assert self.table.transact(Transaction(preparing, None, None, {member.node: change})) is None

    def commit(self, item: GangItem) -> CommitOutcome:
        return GangCommit(self.table, lambda: AT).commit(item, self.table.domain(), "coordinator", COUNTING)


def bind(gangs: Gangs, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bind a gang in one transaction, a gang in two phases, a gang too large, a pod with two owners, announced pods."""
    first = gangs.open("one-transaction")
    member = next(iter(first.intents.values()))
    assert gangs.table.withdraw(first.key, first.round, member.pod.uid, member.attempt)
    joined = gangs.table.join(first.key, first.round, member)
    assert joined is not None
    assert gangs.commit(joined) is CommitOutcome.COMMITTED
    with monkeypatch.context() as small:
        small.setattr("berth.ledger.gangs.commit.MAX_LEDGERS", 1)
        assert gangs.commit(gangs.open("two-phases")) is CommitOutcome.COMMITTED
        assert gangs.commit(gangs.open("too-large", amount=5)) is CommitOutcome.ENDED
    own = Entry(PodKey("ml", "own", "uid-own"), EntryState.RESERVED, "attempt", {GPU: 1}, AT)
    reserve = NodeWrite((EntryChange("uid-own", None, own),), {GPU: PoolChange(avail=-1, min_avail=1)})
    assert gangs.ledger.write_together(dict.fromkeys(NODES, reserve), own.open_on(NODES[0])) is None
    log = tables.announcements
    assert log is not None
    assert list(log.read(1)) == []
    assert all(log.append(announcement(position, until=AT)) for position in (1, 2, 3))
    log.withdraw(1, announcement(1).attempt)
    log.trim(3, until=AT + 1)
    assert [each.position for each in log.read(1)] == [3]


def watch(gangs: Gangs) -> None:
    """End rounds that no coordinator finishes, and gangs without a living member."""
    clock = HandDrivenClock(AT + KEPT_SECONDS)
    watching = GangWatch(gangs.table, PodsInMemory(), lambda key: (), clock, lambda event: None, lambda: None)
    watching.work()
    assert {item.state for item in gangs.table.gangs()} == {GangState.ENDED}


def test_roles_allow_requests_for_gangs_announcements_and_records(
    recorded: RecordedRequests, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tables.gangs is not None
    assert tables.ledger is not None
    assert tables.decisions is not None
    gangs = Gangs(tables.gangs(), tables.ledger)
    for node in NODES:
        gangs.ledger.create(new_ledger(node, {GPU: 4}, {}, 1))
    with as_function("BindFunction"):
        bind(gangs, tables, monkeypatch)
    for function in (*VERBS, "BindFunction"):
        with as_function(function):
            tables.decisions().put({"time": AT, "namespace": "ml", "name": "train-0"})
    for function in VERBS:
        with as_function(function):
            assert len(gangs.table.gangs()) == 3
            assert tables.announcements is not None
            assert tables.announcements.read(1)
    gangs.abandon(gangs.open("abandoned"))
    gangs.open("nobody-commits")
    with as_function("WatcherFunction"):
        watch(gangs)

    requests = recorded.sorted()
    roles = Deployment(transformed(), Authentication="basic").resources("AWS::IAM::Role")
    policies: dict[str, list[Any]] = {name: documents(roles[f"{name}Role"]) for name in GRANTS}
    assert refused(requests, policies) == []
    # IAM evaluates the keys of a transaction together, so gang and nodes have one statement, which includes the action
    # for a batch of nodes.
    assert granted() - used(requests) == {
        (function, "dynamodb:BatchGetItem", GANG) for function in ("BindFunction", "WatcherFunction")
    }


def granted() -> set[tuple[str, str, str]]:
    """Return role, action and key of each grant that this test covers."""
    return {
        (function, action, key)
        for function, grants in GRANTS.items()
        for grant in grants
        for action in grant.actions
        for key in grant.keys.intersection(JUDGED)
    }


def used(requests: list[Request]) -> set[tuple[str, str, str]]:
    return {
        (each.role, each.action, key)
        for each in requests
        for key in JUDGED
        if isinstance(each.leading_key, str) and fnmatchcase(each.leading_key, key)
    }
