"""The cluster's version of Kubernetes: whether Berth was tested with its scheduler and API server."""

from __future__ import annotations

import re
from collections.abc import Iterator

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.findings import NO_WATCHER, CheckName, Finding, failed, ok, warning

CHECK = CheckName.KUBERNETES_VERSION

TESTED = ("1.34", "1.35", "1.36", "1.37")
"""Minor versions that docs/reference/kubernetes-versions.md has a column of."""

WITHOUT_API_SERVER = NO_WATCHER | {
    CheckName.WATCHER_RIGHTS,
    CheckName.BIND_RIGHTS,
    CheckName.WAKE_UP,
    CheckName.SAME_CLUSTER,
    CheckName.SCHEDULER_NAME,
}
"""The checks that fail while the API server is away."""

REMEDY = "upgrade the cluster, or try every verb you use on a test cluster of this version"

# A managed cluster adds a suffix: v1.35.4-eks-3025e55.
_MINOR = re.compile(r"v?(\d+\.\d+)")


def check_kubernetes_version(access: ClusterAccess) -> Iterator[Finding]:
    """The API server's version stands for the scheduler's, which may be one minor version behind."""
    try:
        version = access.version()
    except ClusterUnavailable as error:
        remedy = "check whether this kubeconfig is of the cluster"
        yield failed(CHECK, str(error), remedy, explains=WITHOUT_API_SERVER)
        return
    minor = _MINOR.match(version)
    if minor is not None and minor[1] in TESTED:
        yield ok(CHECK, f"Kubernetes {version}")
    else:
        tested = f"Berth is tested with {', '.join(TESTED)}"
        yield warning(CHECK, f"Kubernetes {version or 'of an unknown version'}: {tested}", REMEDY)
