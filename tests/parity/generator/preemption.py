"""Cases for preemption: a pod that needs room, nodes that tie or nearly tie, victims that already terminate."""

from __future__ import annotations

import copy
from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.labels import HOSTNAME, POD_LABELS, labels
from tests.parity.generator.priorities import ALL_CLASSES
from tests.parity.generator.quantities import milli
from tests.parity.generator.status import STARTS, terminate

Object = dict[str, Any]


def prepare_preemption(draw: Draw, nodes: list[Object], pod: Object, pods: list[Object]) -> None:
    """Let the pod request more; often make two nodes alike; sometimes add a victim on the nominated node."""
    if "resources" not in pod["spec"] and draw.chance(0.8):
        resources = pod["spec"]["containers"][0]["resources"]
        resources.get("limits", {}).pop("cpu", None)
        resources.setdefault("requests", {})["cpu"] = milli(draw, draw.one_of((1000, 1500, 2000)))
    if draw.chance(0.6):
        _share_a_port(draw, pod, draw.one_of(nodes)["metadata"]["name"], pods)
    if draw.chance(0.5):
        original, twin = draw.some_of(nodes, 2, 2)
        _make_alike(draw, original, twin, pods)
    nominated = pod["status"].get("nominatedNodeName")
    if nominated and draw.chance(0.15):
        _require_other_nodes(draw, pod, [node["metadata"]["name"] for node in nodes])
    there = [other for other in pods if other["spec"]["nodeName"] == nominated]
    if there and draw.chance(0.6):
        _make_victim(draw, draw.one_of(there), pod)


def _require_other_nodes(draw: Draw, pod: Object, names: list[str]) -> None:
    """Require a node by name. A PreFilterResult then excludes all other nodes except the nominated node."""
    field = {"key": "metadata.name", "operator": "In", "values": [draw.one_of(names)]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    pod["spec"].setdefault("affinity", {})["nodeAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": required
    }


def rely_on_a_nominated_pod(draw: Draw, pod: Object, nominated: list[Object]) -> None:
    """Let the pod require the topology domain of a pod that is not on its node yet and may never be."""
    other = draw.one_of(nominated)
    other["metadata"] |= {"labels": {"app": "friend"}, "namespace": pod["metadata"]["namespace"]}
    _set_class(other, "urgent")
    term = {"labelSelector": {"matchLabels": {"app": "friend"}}, "topologyKey": HOSTNAME}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pod["spec"].setdefault("affinity", {}).update(near)


def _share_a_port(draw: Draw, pod: Object, name: str, pods: list[Object]) -> None:
    """Let several pods of a node use a host port that the pod wants, as if bound by name without a scheduler."""
    wanted = [port for port in pod["spec"]["containers"][0].get("ports", ()) if port.get("hostPort")]
    there = [other for other in pods if other["spec"]["nodeName"] == name]
    if wanted and len(there) > 1:
        port = draw.one_of(wanted)
        for holder in draw.some_of(there, 2, 3):
            spec = holder["spec"]
            for container in (*spec["containers"], *spec.get("initContainers", ())):
                container.pop("ports", None)
            spec["containers"][0]["ports"] = [copy.deepcopy(port)]


def _make_alike(draw: Draw, original: Object, twin: Object, pods: list[Object]) -> None:
    """Give both nodes the same room and pods, mostly with a few differences, so that a later criterion decides."""
    twin["status"] = copy.deepcopy(original["status"])
    name = twin["metadata"]["name"]
    copies = [copy.deepcopy(pod) for pod in pods if pod["spec"]["nodeName"] == original["metadata"]["name"]]
    for pod in copies:
        pod["spec"]["nodeName"] = name
        _rename(pod, "twin")
    for _ in range(draw.weighted({0: 2, 1: 4, 2: 2, 3: 1}) if copies else 0):
        _vary(draw, draw.one_of(copies), copies)
    pods[:] = [pod for pod in pods if pod["spec"]["nodeName"] != name] + copies


def _vary(draw: Draw, pod: Object, copies: list[Object]) -> None:
    match draw.weighted({"start": 4, "priority": 1, "one more": 2, "labels": 1}):
        case "start":
            pod["status"]["startTime"] = draw.one_of(STARTS)
        case "priority":
            _set_class(pod, draw.one_of(list(ALL_CLASSES)))
        case "one more":
            another = copy.deepcopy(pod)
            _rename(another, f"more{len(copies)}")
            _set_class(another, "lowest" if draw.chance(0.8) else "low")
            copies.append(another)
        case "labels":
            pod["metadata"]["labels"] = labels(draw, POD_LABELS)


def _make_victim(draw: Draw, victim: Object, pod: Object) -> None:
    """Mark `victim` as evicted by the scheduler or by another component; the condition may precede the deletion."""
    if "deletionTimestamp" not in victim["metadata"]:
        terminate(draw, victim["metadata"], victim["status"], by_scheduler=0.9)
    match draw.weighted({"": 8, "not deleted": 1, "not lower": 1}):
        case "not deleted":
            for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
                victim["metadata"].pop(field, None)
        case "not lower":
            for field in ("priority", "priorityClassName", "preemptionPolicy"):
                victim["spec"].pop(field, None)
                if field in pod["spec"]:
                    victim["spec"][field] = pod["spec"][field]


def _rename(pod: Object, suffix: str) -> None:
    pod["metadata"]["name"] += f"-{suffix}"
    pod["metadata"]["uid"] += f"-{suffix}"


def _set_class(pod: Object, name: str) -> None:
    pod["spec"] |= {
        "priorityClassName": name,
        "priority": ALL_CLASSES[name],
        "preemptionPolicy": "PreemptLowerPriority",
    }
