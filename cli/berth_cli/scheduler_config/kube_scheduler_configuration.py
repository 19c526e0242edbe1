"""The KubeSchedulerConfiguration, which is kube-scheduler's --config file, and its command-line flags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from berth_cli.scheduler_config.extenders import Entry

DEFAULT_SCHEDULER = "default-scheduler"

FIELD_COMMENTS: Mapping[str, str] = {
    "resourceName": "Its own lock: with the default name it would wait forever for the cluster's scheduler.",
    "percentageOfNodesToScore": (
        "All nodes: by default the extender sees only some nodes of a cluster with 100 or more (facts 11 and 47)."
    ),
    "podMaxBackoffSeconds": "A gang that fits again waits for the end of its members' back-off, 10 s by default.",
    "managedResources": "Counted by the extender. ignoredByScheduler: not counted by kube-scheduler (fact 38).",
    "ignorable": "false: while Berth is down, its pods wait. true: they are placed without its rules (fact 39).",
}
"""YAML comments by field. The fact numbers refer to docs/reference/extender-contract.md."""


@dataclass(frozen=True, slots=True)
class LeaderElectionLock:
    """The Lease with which the processes of one scheduler elect their leader."""

    namespace: str
    name: str


def scheduler_configuration(
    schedulers: Sequence[str],
    extenders: Sequence[Entry],
    *,
    lock: LeaderElectionLock | None = None,
    kubeconfig: str = "",
    gangs: bool = False,
) -> dict[str, object]:
    """`lock`: None for kube-scheduler's default. `kubeconfig`: a path on the scheduler's machine; empty: its pod's
    service account. `gangs`: they are enabled."""
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
    if gangs:
        document["podMaxBackoffSeconds"] = GANG_BACKOFF_SECONDS
    return document | {
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": name} for name in schedulers],
        "extenders": list(extenders),
    }


GANG_BACKOFF_SECONDS = 3
"""The longest back-off of a pod where gangs are enabled. With bounded retries a gang that fits again is tried when the
back-off of its members is over, and kube-scheduler looks for those once a second: so it runs within 5 s."""

BOUNDED_RETRIES = "--feature-gates=SchedulerPopFromBackoffQ=false"
"""Rejected pods then wait for the end of their back-off even if the queue is idle (fact 44)."""


def scheduler_flags(*, with_password: bool, bounded_retries: bool) -> list[str]:
    """Flags besides --config. At -v=2 the start-up log contains the urlPrefix and its password (fact 37)."""
    verbosity = "-v=1" if with_password else "-v=2"
    return [verbosity, BOUNDED_RETRIES] if bounded_retries else [verbosity]


_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float | None:
    """Seconds of a duration as Go writes it, for example `1m30s`; None if invalid. `0` needs no unit."""
    if text == "0":
        return 0.0
    if not text or _PART.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
