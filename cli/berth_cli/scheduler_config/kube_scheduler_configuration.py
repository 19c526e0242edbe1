"""The KubeSchedulerConfiguration: kube-scheduler's --config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from berth_cli.scheduler_config.extenders import Entry

DEFAULT_SCHEDULER = "default-scheduler"

REASONS: Mapping[str, str] = {
    "resourceName": "A lock of its own: with the default name it would wait for the cluster's scheduler for ever.",
    "percentageOfNodesToScore": (
        "All nodes: with the default the extender sees a part of them on 100 nodes and more (facts 11 and 47)."
    ),
    "managedResources": "Counted by the extender; ignoredByScheduler: by nobody else (fact 38).",
    "ignorable": "false: while Berth is down, its pods wait. true: they are placed without its rules (fact 39).",
}
"""Comments for the document; numbers are those of docs/reference/extender-contract.md."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The Lease by which several processes of one scheduler choose who schedules."""

    namespace: str
    name: str


def scheduler_configuration(
    schedulers: Sequence[str], extenders: Sequence[Entry], *, lock: Lock | None = None, kubeconfig: str = ""
) -> dict[str, object]:
    """`lock`: None for kube-scheduler's own default. `kubeconfig`: a path where the scheduler runs; empty is the
    service account of its pod."""
    document: dict[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    if kubeconfig:
        document["clientConnection"] = {"kubeconfig": kubeconfig}
    if lock is not None:
        document["leaderElection"] = {
            "leaderElect": True,
            "resourceName": lock.name,
            "resourceNamespace": lock.namespace,
        }
    return document | {
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": name} for name in schedulers],
        "extenders": list(extenders),
    }
