"""What makes preemption happen and hard: a pod that needs room, nodes that tie, victims already on their way out."""

from __future__ import annotations

import copy
from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.quantities import milli
from tests.parity.generator.status import terminate

Pod = dict[str, Any]


def prepare_preemption(draw: Draw, node_names: list[str], pod: Pod, pods: list[Pod]) -> None:
    """Let the pod ask for more; sometimes give a node the pods of another, sometimes a nominated pod its victims."""
    if "resources" not in pod["spec"] and draw.chance(0.8):
        resources = pod["spec"]["containers"][0]["resources"]
        resources.get("limits", {}).pop("cpu", None)
        resources.setdefault("requests", {})["cpu"] = milli(draw, draw.one_of((1000, 1500, 2000)))
    if draw.chance(0.3):
        original, twin = draw.some_of(node_names, 2, 2)
        _copy_pods(original, twin, pods)
    nominated = pod["status"].get("nominatedNodeName")
    there = [other for other in pods if other["spec"]["nodeName"] == nominated]
    if there and draw.chance(0.5):
        victim = draw.one_of(there)
        if "deletionTimestamp" not in victim["metadata"]:
            terminate(draw, victim["metadata"], victim["status"], by_scheduler=0.9)


def _copy_pods(original: str, twin: str, pods: list[Pod]) -> None:
    copies = [copy.deepcopy(pod) for pod in pods if pod["spec"]["nodeName"] == original]
    pods[:] = [pod for pod in pods if pod["spec"]["nodeName"] != twin]
    for pod in copies:
        pod["spec"]["nodeName"] = twin
        pod["metadata"]["name"] += "-twin"
        pod["metadata"]["uid"] += "-twin"
        pods.append(pod)
