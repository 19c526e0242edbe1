"""A minimal scheduler without in-tree plugins: it calls the extender's verbs as kube-scheduler does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click
import orjson

from berth_cli.placement.scheduler.control_loop import fit_error_message
from berth_cli.sources.server import CALL_SECONDS, NO_MATERIAL, Endpoint, NoResponse

Manifest = Mapping[str, Any]
"""A complete v1.Pod or v1.Node object."""


class ExtenderFailed(click.ClickException):
    """The extender returned an Error or a status other than 200, or did not respond."""


def pending_pod(name: str, namespace: str, annotations: Mapping[str, str] | None = None, **spec: object) -> Manifest:
    """Build a pod with this spec. A spec without `containers` gets one container."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", "annotations": annotations or {}}
    spec = {"containers": [{"name": "app", "image": "app"}], **spec}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {}}


def name_of(manifest: Manifest) -> str:
    """Return the object's name."""
    return str(manifest["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Placement:
    """The chosen node (empty without a choice), the scores, and the reason for each rejected node."""

    node: str
    passed: Sequence[str]
    reasons: Mapping[str, str]
    scores: Mapping[str, int] = field(default_factory=dict)

    def event(self) -> str:
        """Return the message of the pod's FailedScheduling event."""
        return fit_error_message(len(self.passed) + len(self.reasons), self.reasons.values())


class Extender:
    """Calls one extender, in node-cache mode. Every method raises ExtenderFailed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._endpoint = Endpoint(url, NO_MATERIAL, CALL_SECONDS)

    def filter(self, pod: Manifest, names: Sequence[str], verb: str = "filter") -> Placement:
        """Return the nodes that pass, and the reasons for the other nodes. `verb`: filter or filter_onlyone."""
        answer = self._call(verb, {"Pod": pod, "Nodes": None, "NodeNames": list(names)})
        return Placement("", answer["NodeNames"], answer["FailedAndUnresolvableNodes"])

    def prioritize(self, pod: Manifest, names: Sequence[str]) -> dict[str, int]:
        """Return the scores by node name."""
        answer = self._call("prioritize", {"Pod": pod, "Nodes": None, "NodeNames": list(names)})
        return {each["Host"]: each["Score"] for each in answer}

    def bind(self, pod: Manifest, node: str) -> None:
        """Create the Binding."""
        name, namespace, uid = (pod["metadata"][field] for field in ("name", "namespace", "uid"))
        self._call("bind", {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node})

    def schedule(self, pod: Manifest, nodes: Sequence[str], filter_verb: str = "filter") -> Placement:
        """Filter, score and bind one pod. Only the extender decides."""
        filtered = self.filter(pod, nodes, filter_verb)
        if not filtered.passed:
            return filtered
        scores: dict[str, int] = {}
        # kube-scheduler does not score a node that is the only one left (fact 46).
        if len(filtered.passed) > 1:
            scores = self.prioritize(pod, filtered.passed)
        chosen = max(filtered.passed, key=lambda name: scores.get(name, 0))
        self.bind(pod, chosen)
        return Placement(chosen, filtered.passed, filtered.reasons, scores)

    def _call(self, verb: str, arguments: Mapping[str, object]) -> Any:
        response = self._endpoint.verb(verb, orjson.dumps(arguments))
        if isinstance(response, NoResponse):
            raise ExtenderFailed(f"{verb}: {response.cause}")
        answer = orjson.loads(response.body)
        error = answer.get("Error") if isinstance(answer, dict) else ""
        if response.status != 200 or error:
            raise ExtenderFailed(f"{verb}: {error or response.status}")
        return answer
