"""The KubeSchedulerConfiguration: kube-scheduler's --config file."""

from __future__ import annotations

import re
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


BOUNDED_RETRIES = "--feature-gates=SchedulerPopFromBackoffQ=false"
"""Rejected pods then wait for their back-off even while the queue is idle (fact 44)."""


def flags(*, with_password: bool, bounded_retries: bool) -> list[str]:
    """At -v=2 the start-up log prints the urlPrefix, and with it a password in it (fact 37)."""
    verbosity = "-v=1" if with_password else "-v=2"
    return [verbosity, BOUNDED_RETRIES] if bounded_retries else [verbosity]


_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float | None:
    """The seconds of a duration; None for what is none. A zero alone needs no unit."""
    if text == "0":
        return 0.0
    if not text or _PART.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
