"""Pending pods that no scheduler has tried: their schedulerName is misspelled, or its scheduler does not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess, UntriedPod
from berth_cli.doctor.findings import CheckName, Finding, failed, ok
from berth_cli.doctor.scheduler.scheduler_side import DEFAULT_SCHEDULER, SchedulerSide

CHECK = CheckName.SCHEDULER_NAME

UNTRIED_SECONDS = 60.0
"""A running scheduler tries a new pod within this time, unless very many are created at once."""

MISSPELLED = 0.8
"""How alike a name and its misspelling are. Two names that only both end with -scheduler are less."""


def check_pending_pods(access: ClusterAccess, side: SchedulerSide | None, now: float) -> Iterator[Finding]:
    """One finding for each schedulerName whose pods wait. `now`: seconds since the epoch."""
    try:
        pods = access.untried_pods()
    except ClusterUnavailable as error:
        yield failed(CHECK, str(error), "give a kubeconfig that may list pods", is_effect=True)
        return
    waiting: dict[str, list[UntriedPod]] = {}
    for pod in pods:
        if now - pod.created_at > UNTRIED_SECONDS:
            waiting.setdefault(pod.scheduler_name, []).append(pod)
    own = () if side is None else side.scheduler_names
    yield from _findings(waiting, own)
    if not waiting:
        yield ok(CHECK, "every pending pod has been tried by its scheduler")


def _findings(waiting: Mapping[str, Sequence[UntriedPod]], own: Sequence[str]) -> Iterator[Finding]:
    for name, pods in sorted(waiting.items()):
        shown = f"{pods[0].namespace}/{pods[0].name}" + (f" and {len(pods) - 1} more" if len(pods) > 1 else "")
        yield failed(CHECK, f"no scheduler named {name} has tried {shown}", untried_remedy(name, own))


def untried_remedy(name: str, own: Sequence[str]) -> str:
    """What to do about pods of this schedulerName. own: the names that the scheduler of Berth serves."""
    if name in own or name == DEFAULT_SCHEDULER:
        return f"check whether the scheduler of {name} runs with this configuration and holds its lease"
    served = sorted({*own, DEFAULT_SCHEDULER})
    close = get_close_matches(name, served, 1, MISSPELLED)
    if close:
        return f"did you mean {close[0]}? A pod's schedulerName cannot be changed: create the pod again"
    return f"set schedulerName to one of {', '.join(served)}, or run a scheduler with a profile of this name"
