"""The lines of a recording with pseudonyms.

Every text in an object gets one, unless its field is known to hold no name: a field that is new is not in clear by
mistake. Names of resources, such as `example.com/gpu`, and amounts stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import orjson

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.reduced_pod import LEFT_OUT
from berth.scheduling.objects.projection import SHARED, decode_shared_fields, encode_shared_fields
from berth_cli.recording.format import AppliedPolicy, AssumedPodLine, DecisionLine, Header, RecordingWriter, State
from berth_cli.recording.pseudonyms import Pseudonyms

Object = Mapping[str, object]

PLAIN_SELECTORS = frozenset({"services", "replicationcontrollers"})
"""Resources whose selector is a map of labels."""

_NAMES_TO_NAMES = frozenset({"labels", "annotations", "matchLabels", "nodeSelector"})
_RESOURCES = frozenset({"allocatable", "requests", "overhead", "allocatedResources"})
_IN_CLEAR = frozenset(
    {
        "operator",
        "effect",
        "type",
        "status",
        "reason",
        "phase",
        "protocol",
        "restartPolicy",
        "preemptionPolicy",
        "whenUnsatisfiable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "creationTimestamp",
        "deletionTimestamp",
        "startTime",
        LEFT_OUT,
    }
)
_WORKLOAD_KINDS = frozenset(
    {"DaemonSet", "ReplicaSet", "StatefulSet", "ReplicationController", "Job", "CronJob", "Node"}
)
_VERSION_OF_KUBERNETES = re.compile(r"([a-z]+(\.k8s\.io)?/)?v[0-9][a-z0-9]*", re.ASCII)


class PseudonymisingWriter(RecordingWriter):
    """Writes each line with pseudonyms. For one thread."""

    def __init__(self, path: Path, header: Header, pseudonyms: Pseudonyms) -> None:
        """Raises OSError."""
        super().__init__(path, replace(header, has_pseudonyms=True))
        self._pseudonyms = pseudonyms

    def name_of(self, node: str) -> str:
        return self._pseudonyms.name(node)

    def policy(self, policy: AppliedPolicy) -> bool:
        super().policy(policy)
        return self._pseudonyms.keep(policy.document)

    def state(self, state: State) -> None:
        super().state(replace(state, changes=[self._change(each) for each in state.changes]))

    def decision(self, line: DecisionLine) -> None:
        names = self._pseudonyms
        super().decision(
            replace(
                line,
                pod=self._pod(line.pod),
                nodes=[names.name(name) for name in line.nodes],
                assumed=[self._assumed(each) for each in line.assumed],
                open_gangs=tuple(
                    replace(
                        each,
                        namespace=names.name(each.namespace),
                        name=names.name(each.name),
                        members={names.uid(uid): names.name(node) for uid, node in each.members.items()},
                    )
                    for each in line.open_gangs
                ),
            )
        )

    def _assumed(self, line: AssumedPodLine) -> AssumedPodLine:
        names = self._pseudonyms
        return replace(
            line,
            namespace=names.name(line.namespace),
            name=names.pod(line.name),
            uid=names.uid(line.uid),
            node=names.name(line.node),
            pod=None if line.pod is None else self._pod(line.pod),
        )

    def _change(self, change: Change) -> Change:
        resource, key, obj = change
        namespace, slash, name = key.rpartition("/")
        shown = self._pseudonyms.pod(name) if resource == "pods" else self._pseudonyms.name(name)
        key = f"{self._pseudonyms.name(namespace)}{slash}{shown}"
        if obj is None:
            return Change(resource, key, None)
        if resource == "pods":
            return Change(resource, key, self._pod(obj))
        found = {name: self._value(name, value) for name, value in obj.items()}
        spec = obj.get("spec")
        if resource in PLAIN_SELECTORS and isinstance(spec, dict) and isinstance(spec.get("selector"), dict):
            found["spec"] = {**spec, "selector": self._labels(spec["selector"])}
        return Change(resource, key, found)

    def _pod(self, obj: Object) -> Object:
        found = {name: self._value(name, value) for name, value in obj.items() if name != SHARED}
        metadata, own = obj.get("metadata"), found.get("metadata")
        if isinstance(metadata, dict) and isinstance(own, dict) and isinstance(metadata.get("name"), str):
            found["metadata"] = own | {"name": self._pseudonyms.pod(metadata["name"])}
        source = obj.get(SHARED)
        if isinstance(source, str):
            try:
                shared = decode_shared_fields(source)
            except orjson.JSONDecodeError:
                return found | {SHARED: self._pseudonyms.name(source)}
            found[SHARED] = encode_shared_fields(self._fields(shared) if isinstance(shared, dict) else {})
        return found

    def _fields(self, obj: Object) -> dict[str, object]:
        key = obj.get("key")
        # An expression of a selector: its values are compared with those of labels.
        stay = ("values",) if isinstance(key, str) and self._pseudonyms.keeps_values(key) else ()
        return {name: value if name in stay else self._value(name, value) for name, value in obj.items()}

    def _value(self, field: str, value: object) -> object:
        match value:
            case str():
                return self._text(field, value)
            case list():
                return [self._value(field, each) for each in value]
            case dict() if field in _RESOURCES:
                return value
            case dict() if field in _NAMES_TO_NAMES:
                return self._labels(value)
            case dict() if field == "disruptedPods":
                return {self._pseudonyms.pod(name): each for name, each in value.items()}
            case dict():
                return self._fields(value)
        return value

    def _text(self, field: str, text: str) -> str:
        names = self._pseudonyms
        if field in _IN_CLEAR:
            return text
        match field:
            case "uid":
                return names.uid(text)
            case "image" | "reference":
                # As pods are read: without a tag it is the latest.
                return names.image(text if text.rfind(":") > text.rfind("/") else f"{text}:latest")
            case "names":
                return names.image(text)
            case "kind" if text in _WORKLOAD_KINDS:
                return text
            case "apiVersion" if _VERSION_OF_KUBERNETES.fullmatch(text) is not None:
                return text
        return names.name(text)

    def _labels(self, labels: Mapping[str, object]) -> dict[str, object]:
        """What a rule reads by its key stays."""
        return {
            self._pseudonyms.name(key): value if self._pseudonyms.keeps_values(key) else self._value("", value)
            for key, value in labels.items()
        }
