"""GivenVerdicts: the verdicts of a fake extender of upstream's tables on each node, in an annotation of the pod."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from berth.scheduling.framework import (
    NODES_ONLY,
    SUCCESS,
    FilterPlugin,
    ScorePlugin,
    Status,
    unresolvable,
    unschedulable,
)
from berth.scheduling.objects import NodeInfo, Pod

NAME = "GivenVerdicts"
ANNOTATION = "upstream.berth.dev/verdicts"


class GivenVerdicts(FilterPlugin, ScorePlugin):
    """Reads JSON in the annotation: `nodes`, each with `code`, `reason` and `score`, and `fails`, failing methods."""

    name = NAME
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return pod.annotations.get(ANNOTATION)

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        given = self._given(pod, node, "filter")
        match given.get("code"):
            case "Unschedulable":
                return unschedulable(NAME, given["reason"])
            case "UnschedulableAndUnresolvable":
                return unresolvable(NAME, given["reason"])
        return SUCCESS

    def score(self, pod: Pod, node: NodeInfo) -> int:
        return int(self._given(pod, node, "score").get("score", 0))

    def _given(self, pod: Pod, node: NodeInfo, method: str) -> dict[str, Any]:
        annotation = json.loads(pod.annotations.get(ANNOTATION, "{}"))
        if method in annotation.get("fails", ()):
            raise RuntimeError("some error")
        found: dict[str, Any] = annotation.get("nodes", {}).get(node.name, {})
        return found
