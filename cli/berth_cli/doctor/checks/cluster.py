"""The cluster: permissions of watcher and bind, wake-up, and whether the cache is of this cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.cluster.field_projection import RequiredFields, resources
from berth.ledger_holder.lease import NAME as LEASE_NAME
from berth.ledger_holder.lease import NAMESPACE as LEASE_NAMESPACE
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.configuration.node_cache import WakeUp
from berth.scheduling_queue.kubernetes_queue import NAME as WAKE_NAME
from berth.scheduling_queue.kubernetes_queue import NAMESPACE as WAKE_NAMESPACE
from berth_cli.doctor.access.cluster import ClusterAccess, Permission
from berth_cli.doctor.access.running import RunningBerth
from berth_cli.doctor.findings import STALE_CACHE, CheckName, Finding, failed, ok, skipped
from berth_cli.scheduler_config.managed_resources import managed_resources_of

WATCHER, BINDER, WAKE_UP, SAME = (
    CheckName.WATCHER_RIGHTS,
    CheckName.BIND_RIGHTS,
    CheckName.WAKE_UP,
    CheckName.SAME_CLUSTER,
)
REMEDY = "apply examples/rbac.yaml, and bind its roles to that user"
COUNTED_REMEDY = "apply examples/rbac-counted-resources.yaml, and bind its role to that user"

_READ_LEASE, _PATCH_LEASE = (
    Permission(verb, "leases", "coordination.k8s.io", namespace=LEASE_NAMESPACE, name=LEASE_NAME)
    for verb in ("get", "patch")
)
COUNTED_PERMISSIONS = (Permission("get", "pods"), Permission("patch", "pods"), _READ_LEASE, _PATCH_LEASE)
BINDER_PERMISSIONS = (Permission("get", "pods"), Permission("create", "pods", subresource="binding"))


def binder_permissions(configuration: BerthConfiguration) -> list[Permission]:
    """The part of examples/rbac.yaml and rbac-counted-resources.yaml that bind needs with this configuration."""
    return [*BINDER_PERMISSIONS, *([_READ_LEASE] if _counts(configuration) else [])]


def watcher_permissions(configuration: BerthConfiguration) -> list[Permission]:
    """The part of examples/rbac.yaml and rbac-counted-resources.yaml that this configuration needs."""
    watched = resources(RequiredFields.of(configuration.policy()))
    permissions = [Permission(verb, each.name, each.group) for each in watched for verb in ("list", "watch")]
    permissions.append(Permission("get", "namespaces", name="kube-system"))
    permissions += [Permission(verb, "events", "events.k8s.io") for verb in ("create", "patch")]
    if _counts(configuration):
        permissions += COUNTED_PERMISSIONS
    if configuration.node_cache.wake_up is WakeUp.POD:
        permissions.append(Permission("patch", "pods", subresource="status"))
    return permissions


def _counts(configuration: BerthConfiguration) -> bool:
    counted = managed_resources_of(configuration)
    return bool(counted.resources or counted.by_annotation)


def check_permissions(check: CheckName, access: ClusterAccess, wanted: Sequence[Permission]) -> Iterator[Finding]:
    """One finding for the user, or one for each missing permission."""
    try:
        user = access.user()
        missing = [each for each in wanted if not access.is_allowed(each)]
    except ClusterUnavailable as error:
        explains = STALE_CACHE | {CheckName.WATCHER} if check is WATCHER else frozenset()
        remedy = "check whether the functions use this kubeconfig"
        yield failed(check, str(error), remedy, explains=explains, is_effect=True)
        return
    for permission in missing:
        # bind reads pods in any case.
        is_counted = permission in COUNTED_PERMISSIONS and (check is WATCHER or permission not in BINDER_PERMISSIONS)
        remedy = COUNTED_REMEDY if is_counted else REMEDY
        stops_watcher = check is WATCHER and permission.verb in ("list", "watch")
        explains = STALE_CACHE | {CheckName.WATCHER} if stops_watcher else frozenset()
        yield failed(check, f"{user} may not {permission}", remedy, explains=explains)
    if not missing:
        yield ok(check, f"{user} has all {len(wanted)} permissions")


def check_wake_up(access: ClusterAccess, mode: WakeUp) -> Iterator[Finding]:
    """Without the wake-up, a rejected pod that now fits waits for minutes (facts 41 and 43)."""
    if mode is not WakeUp.OBJECT:
        yield skipped(WAKE_UP, f"wakeUp: {mode}")
        return
    try:
        cause = access.try_wake_up()
    except ClusterUnavailable as error:
        yield failed(WAKE_UP, str(error), "check whether the watcher uses this kubeconfig", is_effect=True)
        return
    if cause:
        yield failed(
            WAKE_UP,
            f"CSIStorageCapacity {WAKE_NAMESPACE}/{WAKE_NAME} cannot be patched ({cause}): a rejected pod that now "
            "fits is retried only after minutes (fact 41)",
            "apply examples/rbac.yaml: it contains the object and the permission",
        )
    else:
        yield ok(WAKE_UP, "the wake-up of the scheduling queue works (dry run)")


def check_same_cluster(access: ClusterAccess, cached: str) -> Iterator[Finding]:
    """`cached`: the cluster of the cache: its UID, then a slash and the format of its objects."""
    of = cached.partition("/")[0]
    try:
        uid = access.uid()
    except ClusterUnavailable as error:
        yield failed(SAME, str(error), "check whether the watcher uses this kubeconfig", is_effect=True)
        return
    if uid == of:
        yield ok(SAME, "the cache is of this cluster")
    else:
        yield failed(
            SAME,
            f"the cache is of cluster {of}, the kubeconfig of cluster {uid}",
            "deploy one stack per cluster, and set the scheduler's urlPrefix to its stack",
        )


def check_cluster_of(running: RunningBerth, access: ClusterAccess | None) -> Iterator[Finding]:
    """The cluster of the Berth that the scheduler calls. `access`: None if no kubeconfig is given."""
    if running.is_on_dump:
        yield failed(
            SAME,
            "Berth reads a dump: it knows only the nodes of a file, and binds no pod of a cluster",
            "start it with --kubeconfig, or point the scheduler at another address",
        )
    elif running.cluster and access is not None:
        yield from check_same_cluster(access, running.cluster)
