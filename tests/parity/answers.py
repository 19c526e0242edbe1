"""Berth's side of the comparison: one case per line on standard input, one result per line on standard output.

A case is a cluster and a pod to place in it, as JSON. The oracle answers the same cases with kube-scheduler's plugins.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, BinaryIO

import orjson
from pydantic import ValidationError

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.objects.cluster import Workloads
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.preemption import Preemption
from berth_cli.sources.dump.objects import read_objects
from tests.parity import scheduling_cycle

PROFILE_CACHE_SIZE = 64

Answer = dict[str, Any]


class InvalidCase(ValueError):
    """The line is not a case. The message names the reason."""


def answer(case: object) -> Answer:
    """Place the pod of one case.

    objects: nodes, pods and other objects as the API server stores them; unknown kinds are ignored. pod: the pod to
    place; it may be among the objects. profile: name of a built-in profile. args: plugin arguments by plugin name. A
    node that cannot be evaluated has an error as its reason. An invalid case gets a result with `error`.
    """
    try:
        profile, pod, snapshot = _read(case)
    except InvalidCase as error:
        return failed(str(error))
    return _answer(scheduling_cycle.run(profile, pod, snapshot))


def failed(error: str) -> Answer:
    """Return the result for a case that cannot be evaluated."""
    return _answer(scheduling_cycle.Cycle({}, error=error))


def _read(case: object) -> tuple[Profile, Pod, Snapshot]:
    if not isinstance(case, dict):
        raise InvalidCase("the case is not an object")
    objects, args = case.get("objects"), case.get("args")
    if not isinstance(objects, list | None):
        raise InvalidCase("objects is not a list")
    pod = read_pod(case.get("pod"))
    if isinstance(pod, UnreadableObject):
        raise InvalidCase(pod.cause)
    found = read_objects(objects or [])
    if found.unreadable:
        raise InvalidCase(found.unreadable[0].cause)
    snapshot = Snapshot.of(
        found.nodes,
        [other for other in found.pods if not _is_same_pod(other, pod)],
        namespaces=found.namespaces,
        disruption_budgets=found.disruption_budgets,
        priority_classes=found.priority_classes,
        workloads=Workloads.of(found.workloads),
    )
    return _profile(case.get("profile", FULL), {} if args is None else args), pod, snapshot


def _is_same_pod(other: Pod, pod: Pod) -> bool:
    """Compare by UID, or by name if neither pod has a UID."""
    if other.uid or pod.uid:
        return other.uid == pod.uid
    return (other.namespace, other.name) == (pod.namespace, pod.name)


def _profile(name: object, args: object) -> Profile:
    if not isinstance(name, str) or not isinstance(args, dict):
        raise InvalidCase("profile is not a name, or args is not an object")
    try:
        return _build_profile(name, orjson.dumps(args, option=orjson.OPT_SORT_KEYS))
    except orjson.JSONEncodeError as error:
        raise InvalidCase(f"args: {error}") from error
    except ValidationError as error:
        raise InvalidCase(
            "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        ) from error


@lru_cache(maxsize=PROFILE_CACHE_SIZE)
def _build_profile(name: str, args: bytes) -> Profile:
    configs = [{"name": plugin, "args": found} for plugin, found in orjson.loads(args).items()]
    return BerthConfiguration.model_validate({"profile": name, "pluginConfig": configs}).build_profile(name)


def _answer(done: scheduling_cycle.Cycle) -> Answer:
    return {
        "verdicts": {
            name: {
                **_status(verdict.status),
                "plugin": verdict.status.plugin or None,
                "all": {plugin: _status(status) for plugin, status in verdict.alone.items()},
            }
            for name, verdict in done.verdicts.items()
        },
        "scores": done.scores,
        "total": done.totals,
        "preemption": None if done.preemption is None else _preemption(done.preemption),
        "error": done.error,
    }


def _preemption(preemption: Preemption) -> Mapping[str, Any]:
    return {
        "nominated": preemption.nominated,
        "tied": list(preemption.tied),
        "candidates": {
            name: {"victims": [pod.uid for pod in each.pods], "numPDBViolations": each.num_pdb_violations}
            for name, each in preemption.candidates.items()
        },
        "reason": preemption.ineligible,
        "violated": {uid: list(budgets) for uid, budgets in preemption.violated.items()},
        "others": preemption.others(),
    }


def _status(status: Status) -> Mapping[str, Any]:
    return {"code": status.code.value, "reasons": list(status.reasons)}


def run(lines: Iterable[bytes], out: BinaryIO) -> None:
    """Answer each line in order and flush after each, because the caller may wait for the result.

    A line that is not JSON gets a result with `error`.
    """
    for line in lines:
        out.write(orjson.dumps(_answer_line(line), option=orjson.OPT_APPEND_NEWLINE))
        out.flush()


def _answer_line(line: bytes) -> Answer:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return failed(f"the line is not JSON: {error}")
    return answer(found)


if __name__ == "__main__":
    run(sys.stdin.buffer, sys.stdout.buffer)
