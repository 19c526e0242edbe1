"""Checks the cluster: its version, the permissions of watcher and bind, the wake-up, and whether the cache belongs to
this cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.kubernetes_cluster import NAMESPACE as WAKE_NAMESPACE
from berth.cluster.kubernetes_cluster import WAKE_NAME
from berth.ledger.lease import NAME as LEASE_NAME
from berth.ledger.lease import NAMESPACE as LEASE_NAMESPACE
from berth.scheduling.configuration.document import BerthConfiguration, WakeUp
from berth_cli.installation.doctor.cluster_access import ClusterAccess, Permission
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.installation.extenders import managed_resources_of
from berth_cli.sources.server import RunningBerth

SAME, WAKE_UP = CheckName.SAME_CLUSTER, CheckName.WAKE_UP

TESTED = ("1.34", "1.35", "1.36", "1.37")
"""The minor versions with a column in docs/reference/kubernetes-versions.md."""
# Managed clusters add a suffix, for example v1.35.4-eks-3025e55.
_MINOR = re.compile(r"v?(\d+\.\d+)")

REMEDY = "apply examples/rbac.yaml, and bind its roles to that user"
COUNTED_REMEDY = "apply examples/rbac-counted-resources.yaml, and bind its role to that user"
EVERYBODY = frozenset({"system:anonymous", "system:authenticated", "system:unauthenticated", "system:serviceaccounts"})
"""The user name of callers without credentials, and the groups that the API server adds to all kinds of users."""
EVERYBODY_REMEDY = "give Berth a user of its own (--watcher-user, --binder-user), and bind no role to this one"
_READ_LEASE, _PATCH_LEASE = (
    Permission(verb, "leases", "coordination.k8s.io", namespace=LEASE_NAMESPACE, name=LEASE_NAME)
    for verb in ("get", "patch")
)
COUNTED_PERMISSIONS = (Permission("get", "pods"), Permission("patch", "pods"), _READ_LEASE, _PATCH_LEASE)
BINDER_PERMISSIONS = (Permission("get", "pods"), Permission("create", "pods", subresource="binding"))


def check_kubernetes_version(access: ClusterAccess) -> Finding:
    """Check the API server's version: the scheduler's version is unknown, and may be one minor version older."""
    version = access.version()
    minor = _MINOR.match(version)
    if minor is not None and minor[1] in TESTED:
        return ok(CheckName.KUBERNETES_VERSION, f"Kubernetes {version}")
    return warning(
        CheckName.KUBERNETES_VERSION,
        f"Kubernetes {version or 'of an unknown version'}: Berth is tested with {', '.join(TESTED)}",
        "upgrade the cluster, or try every verb you use on a test cluster of this version",
    )


def binder_permissions(configuration: BerthConfiguration) -> list[Permission]:
    """Return the permissions in examples/rbac.yaml and rbac-counted-resources.yaml that bind needs with this
    configuration."""
    return [*BINDER_PERMISSIONS, *([_READ_LEASE] if _counts(configuration) else [])]


def watcher_permissions(configuration: BerthConfiguration) -> list[Permission]:
    """Return the permissions in examples/rbac.yaml and rbac-counted-resources.yaml that the watcher needs with this
    configuration."""
    watched = projections(RequiredFields.of(configuration.policy()))
    permissions = [Permission(verb, each.name, each.group) for each in watched for verb in ("list", "watch")]
    permissions.append(Permission("get", "namespaces", name="kube-system"))
    permissions += [Permission("create", "events", "events.k8s.io")]
    if _counts(configuration):
        permissions += COUNTED_PERMISSIONS
    return permissions


def _counts(configuration: BerthConfiguration) -> bool:
    counted = managed_resources_of(configuration)
    return bool(counted.resources or counted.by_annotation)


def check_permissions(check: CheckName, access: ClusterAccess, wanted: Sequence[Permission]) -> Iterator[Finding]:
    """Yield one finding if the user has all permissions or is a group's name, otherwise one for each missing
    permission."""
    user = access.user()
    if user in EVERYBODY or user.startswith("system:serviceaccounts:"):
        yield failed(check, f"{user} is not one user: its permissions are those of others, too", EVERYBODY_REMEDY)
        return
    missing = [each for each in wanted if not access.is_allowed(each)]
    for permission in missing:
        # bind reads pods with every configuration.
        always = BINDER_PERMISSIONS if check is CheckName.BIND_RIGHTS else ()
        is_counted = permission in COUNTED_PERMISSIONS and permission not in always
        yield failed(check, f"{user} may not {permission}", COUNTED_REMEDY if is_counted else REMEDY)
    if not missing:
        yield ok(check, f"{user} has all {len(wanted)} permissions")


def check_wake_up(access: ClusterAccess, mode: WakeUp) -> Finding:
    """Check the wake-up: without it, a rejected pod that now fits waits for minutes (facts 41 and 43)."""
    if mode is not WakeUp.OBJECT:
        return skipped(WAKE_UP, f"wakeUp: {mode}")
    cause = access.try_wake_up()
    if not cause:
        return ok(WAKE_UP, "the wake-up of the scheduling queue works (dry run)")
    return failed(
        WAKE_UP,
        f"CSIStorageCapacity {WAKE_NAMESPACE}/{WAKE_NAME} cannot be patched ({cause}): a rejected pod that now fits is "
        "retried only after minutes (fact 41)",
        "apply examples/rbac.yaml: it contains the object and the permission",
    )


def check_same_cluster(access: ClusterAccess, cached: str) -> Finding:
    """Check that the cache belongs to this cluster. `cached`: `UID/FORMAT`, the cluster and the format of its
    objects."""
    of, uid = cached.partition("/")[0], access.uid()
    if uid == of:
        return ok(SAME, "the cache is of this cluster")
    return failed(
        SAME,
        f"the cache is of cluster {of}, the kubeconfig of cluster {uid}",
        "deploy one stack per cluster, and set the scheduler's urlPrefix to its stack",
    )


def check_cluster_of(running: RunningBerth, access: ClusterAccess | None) -> Iterator[Finding]:
    """Check that the called Berth uses this cluster, and not a dump. `access`: None without a kubeconfig."""
    if running.is_on_dump:
        yield failed(
            SAME,
            "Berth reads a dump: it knows only the nodes of a file, and binds no pod of a cluster",
            "start it with --kubeconfig, or point the scheduler at another address",
        )
    elif running.cluster and access is not None:
        yield check_same_cluster(access, running.cluster)
