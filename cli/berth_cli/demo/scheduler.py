"""What kube-scheduler does with an extender, one pod at a time: filter, prioritize, bind, over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
import urllib3
from pydantic import BaseModel, Field, TypeAdapter


class _FilterResult(BaseModel):
    names: list[str] = Field(alias="NodeNames")
    unresolvable: dict[str, str] = Field(alias="FailedAndUnresolvableNodes")


class _HostPriority(BaseModel):
    host: str = Field(alias="Host")
    score: int = Field(alias="Score")


_HOST_PRIORITY_LIST = TypeAdapter(list[_HostPriority])


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod that waits for a node; `manifest` is the whole v1.Pod."""

    name: str
    namespace: str
    uid: str
    manifest: Mapping[str, object]


class ExtenderFailed(Exception):
    """The extender answered with an Error or with a status other than 200."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod went (`node` empty: nowhere), the scores it was chosen by, and why not the other nodes."""

    node: str
    passed: Sequence[str]
    reasons: Mapping[str, str]
    scores: Mapping[str, int] = field(default_factory=dict)

    def event(self) -> str:
        """The message of the pod's FailedScheduling event."""
        total = len(self.passed) + len(self.reasons)
        counted = ", ".join(f"{count} {reason}" for reason, count in Counter(self.reasons.values()).most_common())
        return f"0/{total} nodes are available: {counted}."


class Scheduler:
    """Calls one extender in node-cache mode."""

    def __init__(self, url_prefix: str) -> None:
        self._url_prefix = url_prefix
        self._http = urllib3.PoolManager()

    def schedule(self, pod: PendingPod, nodes: Sequence[str], filter_verb: str = "filter") -> Placement:
        """Raises ExtenderFailed."""
        filtered = _FilterResult.model_validate_json(self._call(filter_verb, _arguments(pod, nodes)))
        passed = filtered.names
        if not passed:
            return Placement("", passed, filtered.unresolvable)
        scores: dict[str, int] = {}
        # One node left is not scored: there is nothing to choose (fact 46).
        if len(passed) > 1:
            hosts = _HOST_PRIORITY_LIST.validate_json(self._call("prioritize", _arguments(pod, passed)))
            scores = {host.host: host.score for host in hosts}
        chosen = max(passed, key=lambda name: scores.get(name, 0))
        self._call("bind", {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": chosen})
        return Placement(chosen, passed, filtered.unresolvable, scores)

    def _call(self, verb: str, arguments: Mapping[str, object]) -> bytes:
        response = self._http.request(
            "POST",
            f"{self._url_prefix}/{verb}",
            body=orjson.dumps(arguments),
            headers={"Content-Type": "application/json"},
        )
        answer = orjson.loads(response.data)
        error = answer.get("Error") if isinstance(answer, dict) else ""
        if response.status != 200 or error:
            raise ExtenderFailed(f"{verb}: {error or response.status}")
        return response.data


def _arguments(pod: PendingPod, nodes: Sequence[str]) -> dict[str, object]:
    return {"Pod": pod.manifest, "Nodes": None, "NodeNames": list(nodes)}
