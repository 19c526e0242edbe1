"""Cases of `berth explain`, from the objects of a dump."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.explanation.counterfactuals.search import search
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.target import Target, read_target
from berth_cli.sources.attempts import Attempt

Object = Mapping[str, Any]

FULL: Mapping[str, Any] = {"profile": "full"}
LABELLED: Mapping[str, Any] = {"profile": "label-priority"}
LICENCE = "example.com/licence"
COUNTED: Mapping[str, Any] = {
    "profile": "managed-resources",
    "managedResources": [{"name": LICENCE, "ignoredByScheduler": True, "capacity": {"nodeLabel": "licences"}}],
}


def target(pod: Object, *objects: Object, document: Mapping[str, Any] = FULL) -> Target:
    """Return the target of an explanation: the pod in a dump with these objects."""
    metadata = pod["metadata"]
    counting = BerthConfiguration.model_validate(document).counting
    dump = [dict(each) for each in (*objects, pod)]
    return read_target(dump, "dump.json", f"{metadata['namespace']}/{metadata['name']}", counting)


def waiting(pod: Object, *reasons: str) -> Object:
    """Return the pod with the condition that it has after Berth rejected it because of these pools."""
    message = f"0/1 nodes are available: {', '.join(f'1 Insufficient {reason}' for reason in reasons)}."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {**pod, "status": {**pod["status"], "conditions": [condition]}}


def changes(pod: Object, *objects: Object, document: Mapping[str, Any] = FULL) -> list[str]:
    """Return the texts of the changes that place the pod."""
    result = search(target(pod, *objects, document=document).case, rules(document), lambda: False)
    return ["; ".join(change.text for change in each.changes) for each in result.found]


def rules(document: Mapping[str, Any] = FULL) -> Rules:
    """Return the rules of this configuration."""
    return Rules(BerthConfiguration.model_validate(document))


def recorded(time: float, **fields: Any) -> Attempt:
    """Return a record of a call, as a server keeps it."""
    own = {"verb": "filter", "uid": "", "outcome": "feasible", "profile": "full", "nodes": 5, "feasible": 0}
    return Attempt.model_validate(
        {"time": time, "configurationHash": "", "cacheAgeSeconds": 0.5, "reasons": [], **own, **fields}
    )
