"""An extender with given answers, which records its calls and their times."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.e2e.kubernetes.loopback import LoopbackService, Request, Response
from tests.e2e.kubernetes.scheduler_configuration import ExtenderConfiguration, Mode

REASON = "node(s) were rejected"
ANSWER_SECONDS = 30

Message = dict[str, Any]
Answers = Mapping[str, Callable[[Message], object]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a verb; `at`: monotonic seconds."""

    at: float
    verb: str
    request: Message


class ScriptedExtender(LoopbackService):
    """Answers each verb with the function of its name; a verb without a function is not configured."""

    def __init__(self, answers: Answers, mode: Mode = Mode.CACHE) -> None:
        super().__init__(self._answer)
        self._answers, self._mode = answers, mode
        self._calls: list[Call] = []
        self._changed = threading.Condition()

    @property
    def configuration(self) -> ExtenderConfiguration:
        return ExtenderConfiguration(
            url_prefix=self.url_prefix,
            mode=self._mode,
            filter_verb=self._name("filter"),
            prioritize_verb=self._name("prioritize"),
            preempt_verb=self._name("preempt"),
        )

    def calls(self, verb: str) -> list[Call]:
        with self._changed:
            return [call for call in self._calls if call.verb == verb]

    def wait_for_calls(self, verb: str, count: int) -> list[Call]:
        """Wait until the verb was called this often. Raises AssertionError."""
        with self._changed:
            asked = self._changed.wait_for(
                lambda: sum(call.verb == verb for call in self._calls) >= count, ANSWER_SECONDS
            )
            assert asked, f"{verb} was not called {count} times within {ANSWER_SECONDS} s"
        return self.calls(verb)

    def _name(self, verb: str) -> str | None:
        return verb if verb in self._answers else None

    def _answer(self, request: Request) -> Response:
        verb, message = request.path.strip("/"), json.loads(request.body)
        with self._changed:
            self._calls.append(Call(time.monotonic(), verb, message))
            self._changed.notify_all()
        body = json.dumps(self._answers[verb](message)).encode()
        return Response(200, body, {"Content-Type": "application/json"})


def pass_all(request: Message) -> Message:
    """Answer filter: every node passes, in the mode of the request."""
    return {"Nodes": request["Nodes"], "NodeNames": request["NodeNames"]}


def reject_as(field: str) -> Callable[[Message], Message]:
    """Answer filter: no node passes; the reasons are in this map of the answer."""
    return lambda request: {"NodeNames": [], field: dict.fromkeys(request["NodeNames"], REASON)}


def fail(_: Message) -> Message:
    """Answer filter with an error."""
    return {"NodeNames": [], "Error": "no decision"}


def score_equally(request: Message) -> list[Message]:
    """Answer prioritize: all nodes are equal."""
    names = request["NodeNames"] or [node["metadata"]["name"] for node in request["Nodes"]["items"]]
    return [{"Host": name, "Score": 0} for name in names]


def agree(request: Message) -> Message:
    """Answer preempt: accept every proposed node and victim."""
    return {"NodeNameToMetaVictims": request["NodeNameToMetaVictims"]}


def name_no_victims(request: Message) -> Message:
    """Answer preempt: accept every proposed node, with an empty list of victims."""
    return {"NodeNameToMetaVictims": {node: {"Pods": []} for node in request["NodeNameToMetaVictims"]}}
