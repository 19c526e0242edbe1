"""Compares the claims of the pods in the node cache with the ledger's reservations."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.ledger.nodes.entry import NodeLedger
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.leader import ObjectsView
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished, View
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.snapshot_view import DecodedObjects
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.managed_resources.pools import Shares
from berth.scheduling.policy import Policy
from berth.upkeep.reconciler.claims import diverging_claim

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Claims:
    """The data that the node cache adds to the ledger. diverging: the claim of each pod whose entry differs, by owner
    and UID; without shares if the pod does not claim any. resources: the resources that the configuration in force
    counts."""

    diverging: Mapping[tuple[str, str], Shares]
    resources: Collection[str]


@dataclass(frozen=True, slots=True)
class NotRead:
    """The node cache was not read. cause: the reason."""

    cause: str


@dataclass(frozen=True, slots=True)
class ClaimSources:
    """Reads data from the node cache that the ledger lacks. table: None if the cache table is unknown."""

    table: CacheTable | None
    configurations: Configurations

    def read(self, view: View[T], reads: Callable[[Policy], bool], otherwise: str) -> tuple[Policy, T] | NotRead:
        """Return the policy in force and the view of the whole cache; NotRead if `reads` returns false for the policy.
        otherwise: the text after "the configuration in force" in the cause of that NotRead."""
        if self.table is None:
            return NotRead("give --cache-table too")
        try:
            head = self.table.head()
            policy = self.configurations.at("" if head is None else head.configuration_hash).policy
            if not reads(policy):
                return NotRead(f"the configuration in force {otherwise}")
            return policy, NodeCacheReader(self.table, view, time.sleep).at(head)
        except (TableUnavailable, ConfigurationInvalid, NothingPublished) as error:
            return NotRead(str(error))


def claim_sources(client: DynamoDBClient, cache_table: str) -> ClaimSources:
    """Return the node cache in this table. cache_table: empty if it is unknown. Does not read the table."""
    store = DynamoDBConfigurationStore(client, cache_table)
    table = DynamoDBCacheTable(client, cache_table) if cache_table else None
    return ClaimSources(table, Configurations(store, BerthConfiguration))


def diverging_claims(sources: ClaimSources, ledgers: Sequence[NodeLedger]) -> Claims | NotRead:
    """Compare each bound entry with its pod in the node cache. Reads the whole cache."""
    read = sources.read(ObjectsView(), lambda policy: policy.counting.counts, "counts nothing")
    if isinstance(read, NotRead):
        return read
    policy, objects = read
    published = DecodedObjects(Change(*key, obj) for key, obj in objects.items() if key[0] == "pods").pods
    pods = {pod.uid: pod for pod in published.found.values() if pod is not None}
    found = {}
    for ledger in ledgers:
        counting = policy.counting.at(ledger.owner)
        for uid, entry in ledger.entries.items():
            pod = pods.get(uid)
            claim = None if pod is None else diverging_claim(counting, pod, entry, ledger.capacity)
            if claim is not None:
                found[ledger.owner, uid] = claim
    return Claims(found, policy.counting.resources)
