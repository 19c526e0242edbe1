"""Converts a pod of a snapshot or a decision to an object from which the same pod can be parsed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from berth.scheduling.fields.reading import Object
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import names_gang


def pod_document(pod: Pod) -> Mapping[str, object]:
    """Return the fields that decisions read, as an object from which the same pod can be parsed."""
    shared = orjson.loads(pod.spec.source) if pod.spec.source else {}
    metadata = {**shared.get("metadata", {}), "name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    metadata |= {
        name: dict(value) for name, value in (("labels", pod.labels), ("annotations", pod.annotations)) if value
    }
    if pod.created_at is not None and names_gang(pod):
        # Gangs are sorted by age.
        metadata["creationTimestamp"] = _timestamp(pod.created_at)
    if pod.terminating:
        # Only the presence of a deletion time matters.
        metadata["deletionTimestamp"] = _timestamp(pod.created_at or 0.0)
    status = {**shared.get("status", {})}
    if pod.phase:
        status["phase"] = pod.phase
    if pod.nominated_node:
        status["nominatedNodeName"] = pod.nominated_node
    spec = {**shared.get("spec", {})}
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    return {"metadata": metadata, "spec": spec, "status": status}


def objects_in(value: object) -> list[Object]:
    """Return the objects in a list of a document; empty if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
