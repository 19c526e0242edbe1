"""The objects of a live cluster, in the format of a dump. Each resource is listed once.

The user needs only the verb `list` on these resources in all namespaces. The functions do not watch or write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from berth.cluster.api_server.client import ApiServer
from berth.cluster.api_server.kubeconfig import from_file
from berth.cluster.watch.lister_watcher import KubernetesListerWatcher, OptionalListerWatcher, WatchOptions
from berth.cluster.watch.resources import GANG_RESOURCES, KINDS, NODES, Resource
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.scheduling.fields.reading import Object
from berth.scheduling.managed_resources.counting import Counting
from berth_cli.sources.dump.admission import parse_name
from berth_cli.sources.dump.cluster import trim
from berth_cli.terminal.input_files import InvalidInput

REMEDY = "give this user the verb list"


def live_objects(kubeconfig: Path, pod: str, counting: Counting, clock: Callable[[], float]) -> Iterator[Object]:
    """List all objects that the rules read, and the complete pod. clock: returns the seconds since the epoch. Raises
    InvalidInput."""
    try:
        api = ApiServer(from_file(kubeconfig), clock)
        for resource, kind in KINDS.items():
            kept = partial(_kept, kind=kind, pod=parse_name(pod), counting=counting)
            listed = KubernetesListerWatcher(api, resource, WatchOptions(), kept, REMEDY).list_all().objects
            if resource is NODES and not listed:
                raise InvalidInput("the cluster has no nodes: nothing can be placed before it has some")
            yield from listed
        for resource in GANG_RESOURCES:
            yield from _pod_groups(api, resource)
    except ClusterUnavailable as error:
        raise InvalidInput(str(error)) from error


def _pod_groups(api: ApiServer, resource: Resource) -> Iterator[Object]:
    """List the pod groups; nothing if the cluster does not serve them, or the user lacks the permission."""
    versions = [replace(resource, version=each) for each in (resource.version, *resource.earlier_versions)]
    watchers = [KubernetesListerWatcher(api, each, WatchOptions(), dict, REMEDY) for each in versions]
    for obj in OptionalListerWatcher(watchers, lambda _: True).list_all().objects:
        yield {**obj, "apiVersion": f"{resource.group}/{resource.version}", "kind": "PodGroup"}


def _kept(obj: Object, kind: str, pod: tuple[str, str], counting: Counting) -> Object:
    """Trim the object at once, because the untrimmed pods of a large cluster take gigabytes."""
    whole = {**obj, "kind": kind}
    metadata = obj.get("metadata")
    own = (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, dict) else ()
    return whole if kind == "Pod" and own == pod else trim(whole, counting)
