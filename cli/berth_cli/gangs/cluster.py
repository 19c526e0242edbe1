"""The gangs as filter knows them, from the node cache of a stack, or from a live cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from berth.cluster.api_server.client import ApiServer
from berth.cluster.api_server.kubeconfig import from_file
from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.kubernetes_lister_watcher import KubernetesListerWatcher, WatchOptions
from berth.cluster.watch.optional_lister_watcher import OptionalListerWatcher
from berth.cluster.watch.resources import Resource
from berth.configuration.store import ConfigurationInvalid
from berth.gangs.item import GangItem
from berth.gangs.open_gangs import shown
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.observed_state import key_of
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.gangs.overview import GangStatus
from berth_cli.gangs.report import NotRead
from berth_cli.reservations.claims import ClaimSources

REMEDY = "give this user the verb list"


def statuses_in(published: ClaimSources, items: list[GangItem], now: float) -> list[GangStatus] | NotRead:
    """All gangs of the cluster. Reads the whole node cache. now: seconds since the epoch."""
    try:
        head = published.table.head()
        policy = published.configurations.at("" if head is None else head.configuration_hash).policy
        if not policy.gangs.enabled:
            return NotRead("the configuration in force does not enable gangs")
        cluster = NodeCacheReader(published.table, SnapshotView(), time.sleep).at(head)
    except (TableUnavailable, ConfigurationInvalid, NothingPublished) as error:
        return NotRead(str(error))
    return policy.gangs_in(cluster.snapshot, [each for item in items if (each := shown(item, now)) is not None])


def statuses_of(kubeconfig: Path, configuration: BerthConfiguration, clock: Callable[[], float]) -> list[GangStatus]:
    """All gangs of the cluster of a kubeconfig. clock: seconds since the epoch. Raises ClusterUnavailable."""
    api, policy = ApiServer(from_file(kubeconfig), clock), configuration.policy()
    kept = projections(RequiredFields.of(policy))

    def listed(resource: Resource) -> Iterator[Change]:
        versions = [
            KubernetesListerWatcher(
                api, replace(resource, version=version), WatchOptions(), kept[resource], remedy=REMEDY
            )
            for version in (resource.version, *resource.earlier_versions)
        ]
        lister = OptionalListerWatcher(versions, lambda _: True) if resource.is_optional else versions[0]
        for each in lister.list_all().objects:
            name = key_of(each)
            if name is not None:
                yield Change(resource.key, name, each)

    view = SnapshotView()
    found = view.applied(view.empty(), (change for resource in kept for change in listed(resource)))
    return policy.gangs_in(found.snapshot)
