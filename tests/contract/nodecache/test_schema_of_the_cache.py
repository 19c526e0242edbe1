"""Items of another release in the cache table, one release before or after this one; see docs/how-to/upgrade.md."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import orjson
import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.cluster.field_projection import RequiredFields, projections
from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import Configurations
from berth.extender.ports import CacheUnavailable
from berth.lease.clock import Instant
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.lock import Fence, Lease, LeaseSpec, Written
from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.head import FUTURE_SCHEMA, SCHEMA_VERSION, Head, Observation, Position
from berth.nodecache.feed.leader import ObjectsView
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.feed.writer import Leadership, Writer
from berth.nodecache.health import HealthOutcome, health
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.nodecache.warm_node_cache import StalenessReason
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NODES_ONLY
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled
from tests.builders.pods import pod_object
from tests.builders.recordings import RELEASES, Item, items_of, recorded, table_of
from tests.fakes.verbs import Verbs
from tests.unit.lease.clocks import EnvironmentClock

LATEST = RELEASES[-1]
AT = 1_800_000_000.0

NODE = {
    "metadata": {"name": "gpu-1", "labels": {"example.com/priority": "7"}},
    "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
OTHER_NODE = {**NODE, "metadata": {"name": "cpu-1", "labels": {}}, "spec": {"unschedulable": True}}
BUDGET = {
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 1},
}


class _Held(Leadership):
    def __init__(self, fence: Fence) -> None:
        self._fence = fence

    def fence(self) -> Fence | None:
        return self._fence

    def keep(self) -> bool:
        return True

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        self._fence = replace(fence, resource_version=fence.next_resource_version)
        return self._fence

    def refused(self, fence: Fence) -> None:
        raise AssertionError("no other candidate leads")


@dataclass(frozen=True)
class Cache:
    """A table, as this release reads and writes it."""

    client: DynamoDBClient
    name: str

    @property
    def table(self) -> DynamoDBCacheTable:
        return DynamoDBCacheTable(self.client, self.name)

    def head(self) -> Head:
        found = self.table.head()
        assert found is not None
        return found

    def writer(self, holder: str, clock: EnvironmentClock, ids: Iterator[str]) -> Writer:
        """Return the writer of a leader that has just taken the lease and knows the published state."""
        lock = DynamoDBLeaseLock(self.client, self.name, lambda: next(ids))
        found, head = lock.get(), self.table.head()
        assert found is None or isinstance(found, Lease)
        epoch = 0 if found is None else found.spec.lease_transitions + 1
        spec = LeaseSpec(holder, 15, clock.wall(), clock.wall(), epoch, clock.wall() + 840)
        written = lock.create(spec) if found is None else lock.update(found, spec)
        assert isinstance(written, Written)
        fence = Fence(holder, epoch, written.lease.uid, written.lease.resource_version)
        pointer = None if head is None else head.pointer
        return Writer(self.table, _Held(fence), pointer, epoch, clock, lambda: next(ids), sleep=clock.advance)

    def objects(self) -> Mapping[Key, Object]:
        """Return all published objects as a watcher reads them."""
        return dict(NodeCacheReader(self.table, ObjectsView(), lambda _: None).at(self.head()))

    def snapshot(self) -> Snapshot:
        """Return the cluster as a cold verb reads it."""
        return cold(self).at(self.head()).snapshot


def cold(cache: Cache) -> NodeCacheReader[CachedCluster]:
    return NodeCacheReader(cache.table, SnapshotView(), lambda _: None)


def kept(policy: Policy) -> list[Change]:
    """Return the objects of a small cluster, with only the fields that a watcher keeps."""
    reduced = {resource.name: trim for resource, trim in projections(RequiredFields.of(policy)).items()}
    running = pod_object("web-0", "shop", "uid-web-0", node_name="gpu-1", requests={"cpu": "2"})
    pending = pod_object("web-1", "shop", "uid-web-1", requests={"cpu": "3"})
    objects: list[tuple[str, str, dict[str, object]]] = [
        ("nodes", "gpu-1", NODE),
        ("nodes", "cpu-1", OTHER_NODE),
        ("pods", "shop/web-0", running),
        ("pods", "shop/web-1", pending),
        ("poddisruptionbudgets", "shop/web", BUDGET),
        ("priorityclasses", "urgent", {"metadata": {"name": "urgent"}, "value": 1000}),
        ("namespaces", "shop", {"metadata": {"name": "shop", "labels": {"team": "a"}}}),
    ]
    return [Change(resource, key, reduced[resource](content)) for resource, key, content in objects]


def write_today(cache: Cache) -> None:
    """Write a snapshot of all objects but the last, a log item with the last object, and a configuration."""
    clock, ids = EnvironmentClock(AT), (f"id-{number}" for number in count(1))
    changes = kept(BerthConfiguration().policy())
    observation = Observation("cluster-1", {each.resource: Position(f"42@{each.resource}", AT, AT) for each in changes})
    leader = cache.writer("watcher-1", clock, ids)
    leader.replace(changes[:-1], {(each.resource, each.key): each.object or {} for each in changes[:-1]}, observation)
    leader.flush(changes[-1:], observation)
    DynamoDBConfigurationStore(cache.client, cache.name).apply('{"profile": "label-priority"}')


def unpacked(items: list[Item]) -> list[Item]:
    """Decompress the data and remove the values that depend on the version of zlib or of Berth."""
    found = []
    for item in items:
        plain = dict(item)
        if "data" in plain:
            plain["data"] = orjson.loads(zlib.decompress(bytes(plain["data"]["B"])))
        if "snapshot" in plain:
            plain["snapshot"] = {"M": {key: value for key, value in plain["snapshot"]["M"].items() if key != "size"}}
        for varying in ("writerVersion", "logBytes"):
            plain.pop(varying, None)
        found.append(plain)
    return found


@pytest.fixture
def cache_of(any_dynamodb: DynamoDBClient) -> Iterator[Callable[[list[Item]], Cache]]:
    """Yield a function that fills a cache with items."""
    with table_of(any_dynamodb, (), "N") as name:

        def filled(items: list[Item]) -> Cache:
            for item in items:
                any_dynamodb.put_item(TableName=name, Item=item)
            return Cache(any_dynamodb, name)

        yield filled


Filled = Callable[[list[Item]], Cache]


def test_writes_the_items_recorded_for_this_release(cache_of: Filled, any_dynamodb: DynamoDBClient) -> None:
    """If this fails, the format has changed: increase SCHEMA_VERSION and run python -m tests.recorded RELEASE."""
    cache = cache_of([])
    write_today(cache)
    assert unpacked(items_of(any_dynamodb, cache.name)) == unpacked(recorded(LATEST, "cache"))


@pytest.mark.parametrize("release", RELEASES)
def test_reads_the_items_recorded_by_every_release(release: str, cache_of: Filled) -> None:
    cache = cache_of(recorded(release, "cache"))
    snapshot = cache.snapshot()
    assert {name: dict(node.labels) for name, node in snapshot.nodes.items()} == {
        "gpu-1": {"example.com/priority": "7"},
        "cpu-1": {},
    }
    assert snapshot.nodes["cpu-1"].unschedulable
    assert [taint.key for taint in snapshot.nodes["gpu-1"].taints] == ["gpu"]
    assert [pod.name for pod in snapshot.nodes["gpu-1"].pods] == ["web-0"]
    assert dict(snapshot.namespaces["shop"]) == {"team": "a"}
    assert [budget.name for budget in snapshot.disruption_budgets] == ["web"]
    head = cache.head()
    assert head.pointer is not None
    assert head.pointer.observation.cluster_uid == "cluster-1"
    configured = Configurations(DynamoDBConfigurationStore(cache.client, cache.name), BerthConfiguration)
    assert configured.at(head.configuration_hash).policy.counting.counts is False


def later(items: list[Item], *, oldest_reader: int) -> list[Item]:
    """Return the items as the next release might write them, with additions wherever they are allowed."""
    return [_later(dict(item), oldest_reader) for item in items]


ANOTHER_PART: list[Any] = [{"N": "1"}, {"N": "0"}]
"""Version and epoch of a part that the next release adds."""


def _longer(values: Any, *more: Any) -> Any:
    return {"L": [*values["L"], *more]}


def _later(item: dict[str, Any], oldest_reader: int) -> Item:
    item["ofTheNextRelease"] = {"M": {"nested": {"L": [{"N": "1"}]}}}
    if "schemaVersion" in item:
        item["schemaVersion"], item["oldestReader"] = {"N": str(SCHEMA_VERSION + 1)}, {"N": str(oldest_reader)}
        position = {"L": [{"S": "1"}, {"N": str(AT)}, {"N": str(AT)}]}
        positions = {name: _longer(value, {"S": "x"}) for name, value in item["positions"]["M"].items()}
        item["positions"] = {"M": positions | {"resourceclaims": position}}
        item["newest"] = _longer(item["newest"], *ANOTHER_PART)
        snapshot = item["snapshot"]["M"]
        longer = {
            "newest": _longer(snapshot["newest"], *ANOTHER_PART),
            "chunks": _longer(snapshot["chunks"], {"N": "1"}),
        }
        item["snapshot"] = {"M": snapshot | longer | {"encoding": {"S": "zlib"}}}
    if "previous" in item:
        item["previous"] = _longer(item["previous"], {"N": "1"})
    if "data" in item:
        rows = orjson.loads(zlib.decompress(bytes(item["data"]["B"])))
        more = [[kind, key, found and {**found, "more": {"deep": [1]}}] for kind, key, found in rows]
        more.append(["resourceclaims", "shop/claim", {"metadata": {"name": "claim", "namespace": "shop"}}])
        item["data"] = {"B": zlib.compress(orjson.dumps(more))}
    return item


def test_ignores_attributes_that_the_next_release_adds(cache_of: Filled, any_dynamodb: DynamoDBClient) -> None:
    items = recorded(LATEST, "cache")
    with table_of(any_dynamodb, items, "N") as name:
        expected = Cache(any_dynamodb, name).snapshot()
    found = cache_of(later(items, oldest_reader=SCHEMA_VERSION)).snapshot()
    assert {name: (dict(node.labels), node.taints) for name, node in found.nodes.items()} == {
        name: (dict(node.labels), node.taints) for name, node in expected.nodes.items()
    }
    assert [pod.name for pod in found.nodes["gpu-1"].pods] == ["web-0"]
    assert found.nodes["gpu-1"].free == expected.nodes["gpu-1"].free


def test_watcher_writes_its_own_schema_version_into_a_cache_of_the_next_release(cache_of: Filled) -> None:
    """From then on the next release's additions to the head are invalid, as its readers see by the schema version."""
    cache = cache_of(later(recorded(LATEST, "cache"), oldest_reader=SCHEMA_VERSION))
    before, objects, reader = cache.head().pointer, cache.objects(), cold(cache)
    reader.at(cache.head())
    assert before is not None
    writer = cache.writer("watcher-2", EnvironmentClock(AT + 60), (f"later-{number}" for number in count(1)))
    writer.flush([Change("nodes", "cpu-1", None)], before.observation)
    after = cache.head().pointer
    assert after is not None
    assert (after.schema_version, after.version) == (SCHEMA_VERSION, before.version + 1)
    assert cache.objects().keys() == objects.keys() - {("nodes", "cpu-1")}
    assert set(reader.at(cache.head()).snapshot.nodes) == {"gpu-1"}


@pytest.fixture
def unreadable(cache_of: Filled) -> Cache:
    """Return a cache that only the next release can read: only the attributes that all releases share are the same."""
    items = later(recorded(LATEST, "cache"), oldest_reader=SCHEMA_VERSION + 1)
    for item in items:
        if "data" in item:
            item["data"] = {"B": b"\x28\xb5\x2f\xfd another encoding"}
        if "snapshot" in item:
            for other in ("snapshot", "newest", "positions", "observedAt", "compactedVersion", "heartbeat", "logBytes"):
                del item[other]
            item["snapshots"] = {"L": []}
    return cache_of(items)


def assert_names_schema(cache: Cache, reason: str) -> None:
    with pytest.raises(NothingPublished, match=re.escape(reason)):
        cache.snapshot()
    configurations = Configurations(DynamoDBConfigurationStore(cache.client, cache.name), BerthConfiguration)
    clock = EnvironmentClock(AT)
    outcome, details = health(cache.table, configurations, clock, StalenessReason(clock))
    assert (outcome, details["reason"]) == (HealthOutcome.UNAVAILABLE, reason)


def assert_publishes_anew(cache: Cache) -> None:
    """Assert that the version continues, so that no warm reader of either release considers itself ahead."""
    before = cache.head().pointer
    assert before is not None
    assert before.unreadable_reason
    writer = cache.writer("watcher-2", EnvironmentClock(AT + 60), (f"later-{number}" for number in count(1)))
    node = Change("nodes", "gpu-1", {"metadata": {"name": "gpu-1"}})
    observation = Observation("cluster-1", {})
    writer.replace([node], {("nodes", "gpu-1"): node.object or {}}, observation)
    after = cache.head().pointer
    assert after is not None
    assert not after.unreadable_reason
    assert (after.version, after.compacted_version) == (before.version + 1, before.version + 1)
    assert set(cache.snapshot().nodes) == {"gpu-1"}
    writer.flush([Change("nodes", "cpu-1", {"metadata": {"name": "cpu-1"}})], observation)
    assert set(cache.snapshot().nodes) == {"gpu-1", "cpu-1"}


def test_reports_incompatible_schema_without_reading_the_data(unreadable: Cache) -> None:
    assert_names_schema(unreadable, FUTURE_SCHEMA)


def test_watcher_publishes_a_new_snapshot_after_an_incompatible_release(unreadable: Cache) -> None:
    assert_publishes_anew(unreadable)


def test_warm_verb_uses_its_data_until_stale_after_an_incompatible_publication() -> None:
    verbs = Verbs([labelled("n1", "10")])
    assert isinstance(verbs.cache.current().cluster, Snapshot)
    head = verbs.cluster.table.head()
    assert head is not None
    assert head.pointer is not None
    foreign = replace(head.pointer, oldest_reader=SCHEMA_VERSION + 1, version=head.pointer.version + 9)
    verbs.cluster.item.update(lambda item: True, {"pointer": foreign})
    assert isinstance(verbs.cache.current().cluster, Snapshot)
    verbs.clock.advance(181)
    assert isinstance(verbs.cache.current().cluster, CacheUnavailable)


@pytest.mark.parametrize("attribute", ["schemaVersion", "lastEpoch"])
def test_head_without_required_attribute_is_malformed(cache_of: Filled, attribute: str) -> None:
    items = recorded(LATEST, "cache")
    for item in items:
        item.pop(attribute, None)
    with pytest.raises(TableUnavailable, match=f"malformed .*{attribute}.*delete it"):
        cache_of(items).table.head()


def test_assumes_defaults_for_attributes_that_an_earlier_release_lacks(cache_of: Filled) -> None:
    """Every attribute added after the first release needs a default; `oldestReader` is an example."""
    items = recorded(LATEST, "cache")
    for item in items:
        item.pop("oldestReader", None)
    assert set(cache_of(items).snapshot().nodes) == {"gpu-1", "cpu-1"}


@pytest.mark.parametrize("release", RELEASES)
def test_verb_that_needs_only_nodes_loads_only_nodes_from_every_release(release: str, cache_of: Filled) -> None:
    cache = cache_of(recorded(release, "cache"))
    snapshot = cold(cache).at(cache.head(), parts=NODES_ONLY).snapshot
    assert set(snapshot.nodes) == {"gpu-1", "cpu-1"}
    assert not any(node.pods for node in snapshot.nodes.values())
    assert not snapshot.unbound
    assert not snapshot.namespaces
