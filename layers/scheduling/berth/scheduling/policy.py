"""The decisions behind filter, filter_onlyone and prioritize: a profile applied to the names of one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.evaluation import Evaluation
from berth.scheduling.evaluations import Evaluations
from berth.scheduling.exemption import Exemption
from berth.scheduling.nominations import nominated_verdicts
from berth.scheduling.objects import Pod
from berth.scheduling.positions import Located
from berth.scheduling.profile import Profile, Scale
from berth.scheduling.scale import extender_scale
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.status import Code, Status
from berth.scheduling.verdicts import NO_ONE, NOT_IN_CACHE, Dropped, Split

NO_PROFILES: Mapping[str, Profile] = {}


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Which names of a request the pod may go to, in the request's order, and why not to the others."""

    feasible: list[str]
    rejected: Mapping[str, Status]
    exempt: bool = False

    @property
    def messages(self) -> dict[str, str]:
        """Why not to the others, as the pod's event shows it."""
        if isinstance(self.rejected, Dropped):
            return self.rejected.messages
        return {name: status.message for name, status in self.rejected.items()}


class Policy:
    """What one configuration decides. Holds remembered verdicts; otherwise without state, and safe between threads.

    `profiles`: by schedulerName, for pods of schedulers that have one of their own; `profile` is for the others.
    """

    def __init__(self, profile: Profile, exemption: Exemption, profiles: Mapping[str, Profile] = NO_PROFILES) -> None:
        self.profile = profile
        self._profiles = profiles
        self._exemption = exemption
        self._evaluations = Evaluations()

    @property
    def all_profiles(self) -> tuple[Profile, ...]:
        """Every profile that decides for some pod."""
        return (self.profile, *self._profiles.values())

    def profile_of(self, pod: Pod) -> Profile:
        """The profile that decides for this pod."""
        return self._profiles.get(pod.scheduler_name, self.profile)

    def exempts(self, pod: Pod) -> bool:
        """Whether this pod passes every node, whatever the profile."""
        return self._exemption.covers(pod)

    def feasibility(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Feasibility:
        """A verdict for every name, once where one is repeated. An exempt pod passes them all."""
        located = Located.of(names, snapshot.positions)
        if self._exemption.covers(pod):
            return Feasibility(located.names, NO_ONE, exempt=True)
        split = self._split(pod, located, snapshot)
        return Feasibility(split.names, split.dropped)

    def scores(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> list[int]:
        """One integer per name, in the same order. For an exempt pod, and for nodes that are not feasible, 0."""
        if self._exemption.covers(pod):
            return [0] * len(names)
        located = Located.of(names, snapshot.positions)
        split = self._evaluation(pod, snapshot).statuses.split(located)
        totals = self._totals(pod, split.passed, snapshot)
        if self.profile_of(pod).scale is Scale.EXTENDER:
            totals = extender_scale(totals)
        if len(totals) == len(names):
            return totals
        scores = dict(zip(split.names, totals, strict=True))
        return [scores.get(name, 0) for name in names]

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
        located = Located.of(names, snapshot.positions)
        if self._exemption.covers(pod):
            return Feasibility(located.names, NO_ONE, exempt=True)
        split = self._split(pod, located, snapshot)
        passed = split.passed
        if not passed:
            return Feasibility([], split.dropped)
        totals = self._totals(pod, passed, snapshot)
        highest = max(totals)
        chosen = min(name for name, total in zip(passed, totals, strict=True) if total == highest)
        return Feasibility([chosen], split.dropped)

    def _evaluation(self, pod: Pod, snapshot: Snapshot) -> Evaluation:
        return self._evaluations.of(self.profile_of(pod), pod, snapshot)

    def _split(self, pod: Pod, located: Located, snapshot: Snapshot) -> Split:
        evaluation = self._evaluation(pod, snapshot)
        split = evaluation.statuses.split(located)
        exceptions = nominated_verdicts(evaluation, pod, located.names)
        return split.amended(exceptions) if exceptions else split

    def _totals(self, pod: Pod, candidates: Located, snapshot: Snapshot) -> list[int]:
        totals = self._evaluation(pod, snapshot).totals(pod, candidates)
        # Where the pod cannot be scored, the scheduler's own scores decide.
        return [0] * len(candidates) if isinstance(totals, Status) else totals
