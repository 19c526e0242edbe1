"""An API server reduced to the two calls of bind, following a script."""

from __future__ import annotations

from dataclasses import replace

from berth.pods import Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from tests.fakes.clock import HandDrivenClock

Step = tuple[str, Created | FoundPod | Refused | Unanswered, float]


def created(seconds: float = 0.0) -> Step:
    """Accept the Binding after this time."""
    return ("create", Created(), seconds)


def refused(status: int, message: str) -> Step:
    return ("create", Refused(status, message), 0.0)


def lost(cause: str = "the connection broke", seconds: float = 0.0) -> Step:
    """Do not answer the Binding for this time: it may have been accepted."""
    return ("create", Unanswered(cause), seconds)


def pod_on(node: str, uid: str = "uid-train-0", seconds: float = 0.0) -> Step:
    """Let reads find the pod on this node; empty: unbound."""
    return ("read", FoundPod(uid, node, "", False, {}), seconds)


def pod_missing() -> Step:
    return ("read", Refused(404, 'pods "train-0" not found'), 0.0)


def pod_unread(cause: str = "the API server did not answer in time", seconds: float = 0.0) -> Step:
    return ("read", Unanswered(cause), seconds)


class ScriptedBinder(PodBinder):
    """Takes the steps in order and fails on any other call. Each step advances the clock by its seconds."""

    def __init__(self, *steps: Step, clock: HandDrivenClock | None = None, scheduler: str = "berth-scheduler") -> None:
        """scheduler: the pod's schedulerName."""
        self._content: dict[str, object] = {"spec": {"schedulerName": scheduler}} if scheduler else {}
        self._steps = list(steps)
        self._clock = clock or HandDrivenClock()
        self.bindings: list[Binding] = []
        self.timeouts: list[float] = []

    @property
    def finished(self) -> bool:
        return not self._steps

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        self.bindings.append(binding)
        found = self._next("create", timeout)
        assert not isinstance(found, FoundPod)
        return found

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        found = self._next("read", timeout)
        assert not isinstance(found, Created)
        return replace(found, content=self._content) if isinstance(found, FoundPod) else found

    def _next(self, call: str, timeout: float) -> Created | FoundPod | Refused | Unanswered:
        self.timeouts.append(timeout)
        wanted, found, seconds = self._steps.pop(0)
        assert call == wanted, f"the script has {wanted} next, but {call} was called"
        self._clock.advance(seconds)
        return found
