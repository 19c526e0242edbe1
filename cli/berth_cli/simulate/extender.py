"""Who is asked besides the scheduler's own plugins: the part of an HTTP extender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.profiles import FULL
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.status import Status


class Extender(Protocol):
    """What kube-scheduler asks of an extender while it decides."""

    def filter(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Status]:
        """Why not, for those of the names that it drops."""

    def prioritize(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Sequence[int]:
        """A score for each name."""


class PolicyExtender(Extender):
    """The decisions that Berth's verbs answer with, without the verbs.

    Profile `full` is what the scheduler decides by itself; as an extender it would only say so once more.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def filter(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Status]:
        if self._policy.profile_of(pod).name == FULL:
            return {}
        return self._policy.feasibility(pod, names, snapshot).rejected

    def prioritize(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Sequence[int]:
        if self._policy.profile_of(pod).name == FULL:
            return [0] * len(names)
        return self._policy.scores(pod, names, snapshot)
