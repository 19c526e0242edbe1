"""The part that the requests of filter, prioritize and preempt have in common: a JSON object with a pod in it.

A large pod is not decoded again where its text is known. For that the request is cut into texts, at places that
kube-scheduler's encoding has: Go writes a struct's fields in their order. Each text must be an object by itself, so the
whole is what they make together. A request in another form is decoded as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import orjson

from berth.extender.outcomes import Failure, bad_request
from berth.extender.request.wire import decode_object, folded, is_too_large
from berth.scheduling.fields.reading import name_or_empty, read_list, read_object
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.objects.pod_texts import SMALL, PodTexts, read_pod_texts


@dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """The pod, and the request's other fields by their names in lower case."""

    pod: Pod
    fields: dict[str, object]


def read_scheduling_request(body: str | bytes, unreadable: str) -> SchedulingRequest | Failure:
    """Decode the request. unreadable: the reason of a failure, before its cause."""
    pod: Pod | UnreadableObject
    found = _read_texts(body)
    if found is None:
        fields = decode_object(body)
        if isinstance(fields, Failure):
            return fields
        pod = read_pod(fields.get("pod"))
    else:
        pod, fields = found
    if isinstance(pod, UnreadableObject):
        return bad_request(f"{unreadable}: {pod.cause}")
    return SchedulingRequest(pod, fields)


class LastAttempt(Enum):
    """How the last attempt to schedule the pod ended. REJECTED: with the reasons of the nodes. ERROR: without them."""

    NONE = "none"
    REJECTED = "Unschedulable"
    ERROR = "SchedulerError"


@dataclass(frozen=True, slots=True)
class PodVersion:
    """The pod as the scheduler has it."""

    resource_version: str
    last_attempt: LastAttempt


def read_pod_version(body: str | bytes) -> PodVersion:
    """Decode the request once more, for the few decisions that depend on the attempt."""
    fields = decode_object(body)
    pod = read_object({} if isinstance(fields, Failure) else fields.get("pod"), "Pod")
    metadata, status = read_object(pod.get("metadata"), "metadata"), read_object(pod.get("status"), "status")
    found = LastAttempt.NONE
    for condition in read_list(status.get("conditions"), "conditions"):
        # The condition of a gated pod has another reason: no attempt was made.
        if isinstance(condition, dict) and condition.get("type") == "PodScheduled":
            found = next((each for each in LastAttempt if each.value == condition.get("reason")), found)
    return PodVersion(name_or_empty(metadata.get("resourceVersion")), found)


_POD = '{"Pod":{"metadata":'
_SPEC = '},"spec":'
_STATUS = '},"status":'
_ENDS = ('}},"Nodes":null,"NodeNames":[', '}},"NodeNameToVictims":null,"NodeNameToMetaVictims":{')


def _read_texts(body: str | bytes) -> tuple[Pod | UnreadableObject, dict[str, object]] | None:
    """The pod and the other fields; None for a small pod, and for a request that is not in the expected form."""
    if len(body) < SMALL or is_too_large(body):
        return None
    if isinstance(body, bytes):
        try:
            body = body.decode()
        except UnicodeDecodeError:
            return None
    if not body.startswith(_POD) or any(body.find(end, 0, SMALL) >= 0 for end in _ENDS):
        return None
    end = max(map(body.rfind, _ENDS))
    spec = body.find(_SPEC, 0, max(end, 0))
    status = body.rfind(_STATUS, spec, max(end, 0))
    if spec < 0 or status < 0:
        return None
    texts = PodTexts(
        body[len(_POD) : spec + 1], body[spec + len(_SPEC) : status + 1], body[status + len(_STATUS) : end + 1]
    )
    try:
        fields = folded(orjson.loads("{" + body[end + len("}},") :]))
    except orjson.JSONDecodeError:
        return None
    # Of two pods the last one counts.
    pod = None if "pod" in fields else read_pod_texts(texts)
    return None if pod is None else (pod, fields)
