"""A minimal scheduler without plugins of its own: filter, prioritize and bind through the extender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from berth_cli.demo.extender_client import ExtenderClient, Manifest
from berth_cli.simulate.scheduler.control_loop import fit_error_message


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod without a node."""

    name: str
    namespace: str
    uid: str
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Placement:
    """The chosen node (empty: none), the scores, and the reason of each rejected node."""

    node: str
    passed: Sequence[str]
    reasons: Mapping[str, str]
    scores: Mapping[str, int] = field(default_factory=dict)

    def event(self) -> str:
        """The message of the pod's FailedScheduling event."""
        return fit_error_message(len(self.passed) + len(self.reasons), self.reasons.values())


class Scheduler:
    """Schedules one pod at a time; the extender alone decides."""

    def __init__(self, extender: ExtenderClient) -> None:
        self._extender = extender

    def schedule(self, pod: PendingPod, nodes: Sequence[str], filter_verb: str = "filter") -> Placement:
        """Filter, score and bind one pod. Raises ExtenderFailed."""
        filtered = self._extender.filter(pod.manifest, nodes, filter_verb)
        passed = filtered.names
        if not passed:
            return Placement("", passed, filtered.unresolvable)
        scores: dict[str, int] = {}
        # kube-scheduler does not score a single remaining node (fact 46).
        if len(passed) > 1:
            scores = self._extender.prioritize(pod.manifest, passed)
        chosen = max(passed, key=lambda name: scores.get(name, 0))
        self._extender.bind(pod.namespace, pod.name, pod.uid, chosen)
        return Placement(chosen, passed, filtered.unresolvable, scores)
