"""Sources of the console: a dump, a live cluster, a node cache. All are only read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import PODS
from berth.configuration.store import ActiveConfiguration, Configurations
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.cluster import (
    LOOK_SECONDS,
    ClusterSource,
    NodeCacheSource,
    ObservedCluster,
    followed_dump,
    followed_kubeconfig,
)
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.sources.cached_objects import ReplacementsView
from tests.builders.counted import LICENCE, LICENCES, configuration, counted_node_object
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import node_object, node_with
from tests.builders.pods import pod_with
from tests.fakes.api_server import verified_kubernetes
from tests.fakes.published import PublishedCluster
from tests.unit.cli.console.cases import Waits

NOW = 5000.0


def default() -> ActiveConfiguration:
    return ActiveConfiguration.of(BerthConfiguration())


def observed(source: ClusterSource, until: Callable[[ObservedCluster], bool] = lambda _: True) -> ObservedCluster:
    """Return the first observed state for which `until` is true."""
    for _ in range(200):
        found = source.observe(0.5)
        if isinstance(found, ObservedCluster) and until(found):
            return found
    raise AssertionError("it was not observed")


def dump_at(folder: Path, *objects: object) -> Path:
    path = folder / "dump.json"
    path.write_text(json.dumps({"kind": "List", "items": objects}))
    return path


def test_age_of_a_dump_is_the_age_of_its_file(tmp_path: Path) -> None:
    path = dump_at(tmp_path, node_with("n1"))
    os.utime(path, (1_000.0, 1_000.0))
    source = followed_dump(path, default())
    assert observed(source).observed_at == 1_000.0
    source.close()


def test_changed_dump_is_read_again_and_unreadable_dump_keeps_the_last_state(tmp_path: Path) -> None:
    path = dump_at(tmp_path, node_with("n1"))
    source = followed_dump(path, default())
    observed(source)
    dump_at(tmp_path, node_with("n1"), node_with("n2"), node_with("n3"))
    observed(source, lambda found: "n2" in found.snapshot.nodes)
    path.write_text("{")
    found = observed(source, lambda found: found.problem != "")
    assert str(path) in found.problem
    assert len(found.snapshot.nodes) == 3
    dump_at(tmp_path, node_with("n4"))
    assert observed(source, lambda found: "n4" in found.snapshot.nodes).problem == ""


def test_change_that_could_not_be_applied_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = followed_dump(dump_at(tmp_path, node_with("n1")), default())
    with monkeypatch.context() as defective:
        defective.setattr(SnapshotView, "applied", lambda *_: 1 // 0)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                source.observe(0.05)
    assert list(observed(source).snapshot.nodes) == ["n1"]


def test_live_cluster_is_watched_with_get_requests_only(tmp_path: Path) -> None:
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes.append(node_object("n1"))
        kubernetes.add_pod("web", "u1", node="n1")
        path = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        source = followed_kubeconfig(path, default(), lambda: NOW)
        try:
            found = observed(source)
            assert (list(found.snapshot.nodes), len(found.snapshot.nodes["n1"].pods)) == (["n1"], 1)
            kubernetes.nodes.append(node_object("n2"))
            observed(source, lambda found: "n2" in found.snapshot.nodes)
        finally:
            source.close()
        assert {request.method for request in kubernetes.requests} == {"GET"}


def node_cache(
    cluster: PublishedCluster, closed: Event | None = None, look_seconds: float = LOOK_SECONDS
) -> NodeCacheSource:
    return NodeCacheSource(
        "berth-production",
        cluster.table,
        NodeCacheReader(cluster.table, SnapshotView(), lambda _: None),
        Configurations(InMemoryConfigurationStore(cluster.item), lambda: configuration(LICENCES)),
        closed or Waits(),
        look_seconds,
        NodeCacheReader(cluster.table, ReplacementsView(), lambda _: None),
    )


def test_replacements_contain_only_pods_whose_selectors_the_cache_keeps() -> None:
    cluster, project = PublishedCluster(), projections(RequiredFields(replacements=True))[PODS]
    pods = [pod_with(name, nodeName="n1", nodeSelector={"a": name}) for name in ("p", "q")]
    cluster.publish("pods", [*map(project, pods), projections(RequiredFields())[PODS](pod_with("r", nodeName="n1"))])
    source = node_cache(cluster)
    found = {("default", name): {"nodeSelector": {"a": name}} for name in ("p", "q")}
    assert observed(source).replacements == found
    cluster.publish("pods", [project(pods[0])])
    del found["default", "q"]
    assert observed(source).replacements == found


def test_node_cache_is_read_with_its_age_and_configuration() -> None:
    cluster = PublishedCluster()
    cluster.publish("nodes", [counted_node_object("n1", "5")])
    source = node_cache(cluster)
    found = observed(source)
    assert found.observed_at == cluster.clock.wall()
    assert found.configured.policy.counting.resources == (LICENCE,)
    cluster.publish("nodes", [counted_node_object("n1", "5"), node_with("n2")])
    assert list(observed(source).snapshot.nodes) == ["n1", "n2"]


def test_unreadable_node_cache_keeps_the_last_state(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = PublishedCluster()
    cluster.publish("nodes", [node_with("n1")])
    source = node_cache(cluster)
    observed(source)

    def throttled() -> None:
        raise TableUnavailable("the cache table throttles")

    monkeypatch.setattr(cluster.table, "head", throttled)
    found = observed(source)
    assert (list(found.snapshot.nodes), found.problem) == (["n1"], "the cache table throttles")


def of_node_cache(closed: Event, _: Path) -> ClusterSource:
    cluster = PublishedCluster()
    cluster.publish("nodes", [node_with("n1")])
    return node_cache(cluster, closed)


def of_empty_node_cache(closed: Event, _: Path) -> ClusterSource:
    return node_cache(PublishedCluster(), closed)


def of_dump(_: Event, folder: Path) -> ClusterSource:
    return followed_dump(dump_at(folder, node_with("n1")), default())


@pytest.mark.parametrize("source_of", [of_node_cache, of_empty_node_cache, of_dump])
def test_observe_returns_when_the_source_is_closed(
    source_of: Callable[[Event, Path], ClusterSource], tmp_path: Path
) -> None:
    source = source_of(Event(), tmp_path)
    source.observe(0)
    looking = Thread(target=source.observe, args=(60,), daemon=True)
    looking.start()
    source.close()
    looking.join(20)
    assert not looking.is_alive()
