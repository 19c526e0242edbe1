"""Finds pending pods that no scheduler has tried, because their schedulerName is misspelled or its scheduler is down,
and pods that wait for ever for a floating pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.gangs.gang import Gang, gang_of
from berth.scheduling.objects.pod_reading import read_pods
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, warning
from berth_cli.terminal.output import examples

if TYPE_CHECKING:
    from berth.scheduling.gangs.gang import GangsConfiguration
    from berth.scheduling.managed_resources.counting import Counting
    from berth_cli.installation.doctor.cluster_access import ClusterAccess

UNTRIED_SECONDS = 60.0
"""The age in seconds from which a pod counts as untried. A running scheduler tries a new pod earlier, unless very many
pods are created at once."""
MISSPELLED = 0.8
"""The minimum similarity of a name and its misspelling. Names that share only the ending -scheduler are less
similar."""


def check_pending_pods(access: ClusterAccess, own: Sequence[str], now: float) -> Iterator[Finding]:
    """Yield a finding for each schedulerName whose pods no scheduler has tried: it is misspelled, or its scheduler is
    down. `own`: the names that Berth's scheduler serves. `now`: seconds since the epoch.
    """
    waiting: dict[str, list[str]] = {}
    for pod in filter(_is_untried, access.pending_pods()):
        metadata = pod["metadata"]
        if now - datetime.fromisoformat(metadata["creationTimestamp"]).timestamp() > UNTRIED_SECONDS:
            waiting.setdefault(pod["spec"]["schedulerName"], []).append(f"{metadata['namespace']}/{metadata['name']}")
    for name, pods in sorted(waiting.items()):
        message = f"no scheduler named {name} has tried {examples(pods)}"
        yield failed(CheckName.SCHEDULER_NAME, message, untried_remedy(name, own))
    if not waiting:
        yield ok(CheckName.SCHEDULER_NAME, "every pending pod has been tried by its scheduler")


def _is_untried(pod: Mapping[str, Any]) -> bool:
    """Return whether the pod is not gated and lacks the condition PodScheduled, which its scheduler sets."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return not pod["spec"].get("schedulingGates") and all(each["type"] != "PodScheduled" for each in conditions)


def check_pool_requests(access: ClusterAccess, counting: Counting, gangs: GangsConfiguration) -> Iterator[Finding]:
    """Yield a finding for each pending pod, or gang defined by annotations, that requests more than the capacity of a
    pool of the cluster or of its namespace. A gang with the minimum N requests at least the sum of the N smallest
    requests of its pending members."""
    requests: dict[tuple[str, str, int], list[int]] = {}
    for pod in read_pods(access.pending_pods())[0]:
        gang = gang_of(pod, {}, gangs)
        for pool, amount in counting.floating.used((pod,), {}).items():
            requests.setdefault((pool, f"pod {pod.namespace}/{pod.name}", 1), []).append(amount)
            if isinstance(gang, Gang):
                requests.setdefault((pool, f"gang {gang.key}", gang.minimum), []).append(amount)
    for (pool, name, minimum), amounts in requests.items():
        least = sum(sorted(amounts)[:minimum])
        if len(amounts) >= minimum and least > (most := counting.floating.capacity(pool)):
            message = f"{name} requests {least} of {pool}, which has {most}"
            yield warning(CheckName.MANAGED_RESOURCES, message, "lower its request, or raise the capacity")


def untried_remedy(name: str, own: Sequence[str]) -> str:
    """Return the remedy for pods with this schedulerName. own: the names that Berth's scheduler serves."""
    if name in own or name == DEFAULT_SCHEDULER:
        return f"check whether the scheduler of {name} runs with this configuration and holds its lease"
    served = sorted({*own, DEFAULT_SCHEDULER})
    close = get_close_matches(name, served, 1, MISSPELLED)
    if close:
        return f"did you mean {close[0]}? A pod's schedulerName cannot be changed: create the pod again"
    return f"set schedulerName to one of {', '.join(served)}, or run a scheduler with a profile of this name"
