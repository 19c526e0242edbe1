"""The decisions behind filter, filter_onlyone and prioritize: a profile applied to the names of one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.evaluation import NOT_IN_CACHE, Evaluations
from berth.scheduling.exemption import Exemption
from berth.scheduling.objects import Pod
from berth.scheduling.profile import Profile
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.status import SUCCESS, Code, Status


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Which names of a request the pod may go to, in the request's order, and why not to the others."""

    feasible: list[str]
    rejected: Mapping[str, Status]
    exempt: bool = False


class Policy:
    """What one configuration decides. Holds remembered verdicts; otherwise without state, and safe between threads."""

    def __init__(self, profile: Profile, exemption: Exemption) -> None:
        self.profile = profile
        self._exemption = exemption
        self._evaluations = Evaluations()

    def feasibility(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Feasibility:
        """A verdict for every name. An exempt pod passes them all."""
        if self._exemption.covers(pod):
            return Feasibility(list(names), {}, exempt=True)
        statuses = self._evaluations.of(self.profile, pod, snapshot).statuses
        feasible: list[str] = []
        rejected: dict[str, Status] = {}
        for name in names:
            status = statuses[name]
            if status is SUCCESS:
                feasible.append(name)
            else:
                rejected[name] = status
        return Feasibility(feasible, rejected)

    def scores(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> list[int]:
        """One integer per name, in the same order. For an exempt pod, and for nodes that are not feasible, 0."""
        if self._exemption.covers(pod):
            return [0] * len(names)
        scores = self._evaluations.of(self.profile, pod, snapshot).scores
        return [scores[name] for name in names]

    def barred(self, pod: Pod, names: Iterable[str], snapshot: Snapshot) -> set[str]:
        """The names of nodes that the pod cannot go to, whoever leaves them. Of an unknown node that is not known."""
        rejected = self.feasibility(pod, list(names), snapshot).rejected
        return {
            name
            for name, status in rejected.items()
            if status.code is not Code.UNSCHEDULABLE and status is not NOT_IN_CACHE
        }

    def best(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Feasibility:
        """Like `feasibility`, with only the highest scored feasible name left; equal scores go by name.

        Feasible names that were not chosen have no entry: they are no failure (fact 47). An exempt pod keeps them all.
        """
        found = self.feasibility(pod, names, snapshot)
        if found.exempt or not found.feasible:
            return found
        scores = self._evaluations.of(self.profile, pod, snapshot).scores
        chosen = min(found.feasible, key=lambda name: (-scores[name], name))
        return Feasibility([chosen], found.rejected)
