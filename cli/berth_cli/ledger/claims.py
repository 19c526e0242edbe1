"""The claims of pods, from the node cache, for comparison with the ledger."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.ledger.nodes.entry import NodeLedger, Shares
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.leader import ObjectsView
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.snapshot_view import DecodedObjects
from berth.scheduling.configuration.document import BerthConfiguration
from berth.upkeep.reconciler.published_pods import diverging_claim

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


Claims: TypeAlias = Mapping[tuple[str, str], Shares]
"""Maps node and UID to the claim of a pod that differs from its entry; empty shares if it does not claim any."""


@dataclass(frozen=True, slots=True)
class NotCompared:
    """The pods could not be read."""

    cause: str


@dataclass(frozen=True, slots=True)
class ClaimSources:
    """The sources of the pods' claims."""

    table: CacheTable
    configurations: Configurations


def claim_sources(client: DynamoDBClient, cache_table: str) -> ClaimSources:
    """Return the node cache in this table. Reads nothing."""
    store = DynamoDBConfigurationStore(client, cache_table)
    return ClaimSources(DynamoDBCacheTable(client, cache_table), Configurations(store, BerthConfiguration))


def diverging_claims(sources: ClaimSources, ledgers: Sequence[NodeLedger]) -> Claims | NotCompared:
    """Compare each bound entry with its pod in the node cache. Reads the whole cache."""
    table = sources.table
    try:
        head = table.head()
        counting = sources.configurations.at("" if head is None else head.configuration_hash).policy.counting
        if not counting.counts:
            return NotCompared("the configuration in force counts nothing")
        objects = NodeCacheReader(table, ObjectsView(), time.sleep).at(head)
    except (TableUnavailable, ConfigurationInvalid, NothingPublished) as error:
        return NotCompared(str(error))
    published = DecodedObjects(Change(*key, obj) for key, obj in objects.items() if key[0] == "pods").pods
    pods = {pod.uid: pod for pod in published.found.values() if pod is not None}
    found = {}
    for ledger in ledgers:
        for uid, entry in ledger.entries.items():
            pod = pods.get(uid)
            claim = None if pod is None else diverging_claim(counting, pod, entry, ledger.capacity)
            if claim is not None:
                found[ledger.node, uid] = claim
    return found
