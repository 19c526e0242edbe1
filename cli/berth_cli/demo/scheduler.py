"""What kube-scheduler does with an extender, one pod at a time: filter, prioritize, bind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from berth_cli.demo.extender_client import ExtenderClient, Manifest
from berth_cli.simulate.scheduler.control_loop import fit_error


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod that waits for a node."""

    name: str
    namespace: str
    uid: str
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod went (`node` empty: nowhere), the scores it was chosen by, and why not the other nodes."""

    node: str
    passed: Sequence[str]
    reasons: Mapping[str, str]
    scores: Mapping[str, int] = field(default_factory=dict)

    def event(self) -> str:
        """The message of the pod's FailedScheduling event."""
        return fit_error(len(self.passed) + len(self.reasons), self.reasons.values())


class Scheduler:
    """A scheduler that has nothing to say itself: the extender decides."""

    def __init__(self, extender: ExtenderClient) -> None:
        self._extender = extender

    def schedule(self, pod: PendingPod, nodes: Sequence[str], filter_verb: str = "filter") -> Placement:
        """Raises ExtenderFailed."""
        filtered = self._extender.filter(pod.manifest, nodes, filter_verb)
        passed = filtered.names
        if not passed:
            return Placement("", passed, filtered.unresolvable)
        scores: dict[str, int] = {}
        # One node left is not scored: there is nothing to choose (fact 46).
        if len(passed) > 1:
            scores = self._extender.prioritize(pod.manifest, passed)
        chosen = max(passed, key=lambda name: scores.get(name, 0))
        self._extender.bind(pod.namespace, pod.name, pod.uid, chosen)
        return Placement(chosen, passed, filtered.unresolvable, scores)
