"""What a new version of a verb is asked before anybody depends on it, and which answers show that it can decide.

Nothing is changed by it: the pod does not exist, bind gets a request that names none, preempt one without candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from berth.runtime.warm_up_event import EVENT

NAME = "berth-pre-traffic"
POD: Mapping[str, object] = {
    "metadata": {"name": NAME, "namespace": "default", "uid": NAME},
    "spec": {"containers": [{"name": "probe", "resources": {}}]},
    "status": {},
}
NOTHING_LOADED = "it found no snapshot in the cache table"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function answered: the status for the gateway and the body, decoded."""

    status: int
    content: object


@dataclass(frozen=True, slots=True)
class Probe:
    """An event for the function, and what its answer shows to be wrong: "" for nothing."""

    event: Mapping[str, object]
    defect: Callable[[Answer], str]


def probes(verb: str) -> tuple[Probe, ...]:
    """In their order: the snapshot first, so that the decision has the time that a warm one has."""
    return _PROBES[verb]


def _loads(answer: Answer) -> str:
    match answer.content:
        case {"version": int(version)} if version > 0:
            return ""
    return NOTHING_LOADED


def _filters(answer: Answer) -> str:
    match answer.content:
        case {"Error": "", "FailedNodes": dict()}:
            return ""
        case {"Error": str(error)} if error:
            return error
    return _unexpected(answer)


def _scores(answer: Answer) -> str:
    """One host was asked about. Behind Basic credentials a failure is an empty list (fact 18)."""
    match answer.content:
        case [{"Host": str(), "Score": int()}]:
            return ""
        case []:
            return "it failed without saying why; see its log"
    return _unexpected(answer)


def _agrees(answer: Answer) -> str:
    match answer.content:
        case {"NodeNameToMetaVictims": dict()}:
            return ""
    return _unexpected(answer)


def _refuses(answer: Answer) -> str:
    """bind has connected to the cluster, and knows what is counted, before it looks at the request."""
    match answer.content:
        case {"Error": str(error)} if error.startswith("the binding request has no valid "):
            return ""
        case {"Error": str(error)} if error:
            return error
    return _unexpected(answer)


def _unexpected(answer: Answer) -> str:
    return f"status {answer.status}, and not what the verb answers"


def _asking(arguments: object, defect: Callable[[Answer], str]) -> Probe:
    body = orjson.dumps(arguments).decode()
    return Probe({"version": "2.0", "body": body, "isBase64Encoded": False}, defect)


_LOAD = Probe(EVENT, _loads)
_CANDIDATES = {"Pod": POD, "Nodes": None, "NodeNames": [NAME]}

_PROBES: Mapping[str, tuple[Probe, ...]] = {
    "filter": (_LOAD, _asking(_CANDIDATES, _filters)),
    "filter_onlyone": (_LOAD, _asking(_CANDIDATES, _filters)),
    "prioritize": (_LOAD, _asking(_CANDIDATES, _scores)),
    "bind": (_asking({}, _refuses),),
    "preempt": (
        _LOAD,
        _asking({"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}}, _agrees),
    ),
}
