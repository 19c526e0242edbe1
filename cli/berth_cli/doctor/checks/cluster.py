"""The cluster: may the watcher and bind do there what they have to, and is it the one that the cache is of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.cluster.kept_fields import Needs, resources
from berth.cluster.kubernetes_queue import NAME as WAKE_NAME
from berth.cluster.kubernetes_queue import NAMESPACE as WAKE_NAMESPACE
from berth.nodecache.cluster import ClusterUnavailable
from berth.scheduling.configuration import BerthConfiguration
from berth.scheduling.freshness import WakeUp
from berth_cli.doctor.access.cluster import ClusterAccess, Right
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped
from berth_cli.scheduler_config.managed_resources import managed

WATCHER, BINDER, WAKE_UP, SAME = (
    CheckName.WATCHER_RIGHTS,
    CheckName.BIND_RIGHTS,
    CheckName.WAKE_UP,
    CheckName.SAME_CLUSTER,
)
REMEDY = "apply examples/rbac.yaml, and bind its roles to that user"
COUNTED_REMEDY = "apply examples/rbac-counted-resources.yaml, and bind its role to that user"

COUNTED_RIGHTS = (Right("get", "pods"), Right("patch", "pods"))
BINDER_RIGHTS = (Right("get", "pods"), Right("create", "pods", subresource="binding"))


def watcher_rights(configuration: BerthConfiguration) -> list[Right]:
    """What examples/rbac.yaml and rbac-counted-resources.yaml give it, as far as this configuration needs it."""
    watched = resources(Needs.of(configuration.policy()))
    counted = managed(configuration)
    rights = [Right(verb, each.name, each.group) for each in watched for verb in ("list", "watch")]
    rights.append(Right("get", "namespaces", name="kube-system"))
    if counted.resources or counted.by_annotation:
        rights += COUNTED_RIGHTS
    if configuration.node_cache.wake_up is WakeUp.POD:
        rights.append(Right("patch", "pods", subresource="status"))
    return rights


def rights(check: CheckName, access: ClusterAccess, wanted: Sequence[Right]) -> Iterator[Finding]:
    """One finding for the user, or one for each right that is missing."""
    try:
        user = access.user()
        missing = [right for right in wanted if not access.may(right)]
    except ClusterUnavailable as error:
        yield failed(check, str(error), "see whether the kubeconfig is the one that the functions use")
        return
    for right in missing:
        remedy = COUNTED_REMEDY if check is WATCHER and right in COUNTED_RIGHTS else REMEDY
        yield failed(check, f"{user} may not {right}", remedy)
    if not missing:
        yield ok(check, f"{user} has all {len(wanted)} rights")


def wake_up(access: ClusterAccess, how: WakeUp) -> Iterator[Finding]:
    """Without it a rejected pod that would fit now waits for minutes (facts 41 and 43)."""
    if how is not WakeUp.OBJECT:
        yield skipped(WAKE_UP, f"wakeUp: {how}")
        return
    try:
        cause = access.touch()
    except ClusterUnavailable as error:
        yield failed(WAKE_UP, str(error), "see whether the kubeconfig is the one that the watcher uses")
        return
    if cause:
        yield failed(
            WAKE_UP,
            f"CSIStorageCapacity {WAKE_NAMESPACE}/{WAKE_NAME} cannot be touched ({cause}): a rejected pod that fits "
            "now is tried again only after minutes (fact 41)",
            "apply examples/rbac.yaml: it has the object and the right",
        )
    else:
        yield ok(WAKE_UP, "the scheduler's queue can be woken (dry run)")


def same_cluster(access: ClusterAccess, cached: str) -> Iterator[Finding]:
    """`cached`: the cluster that the cache is of: its UID, and after a slash the form in which its objects are kept."""
    of = cached.partition("/")[0]
    try:
        uid = access.uid()
    except ClusterUnavailable as error:
        yield failed(SAME, str(error), "see whether the kubeconfig is the one that the watcher uses")
        return
    if uid == of:
        yield ok(SAME, "the cache is of this cluster")
    else:
        yield failed(
            SAME,
            f"the cache is of the cluster {of}, the kubeconfig of {uid}",
            "give each cluster a stack of its own, and the scheduler the urlPrefix of its own",
        )
