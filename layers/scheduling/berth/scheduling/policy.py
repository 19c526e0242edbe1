"""The decisions behind the verbs: a profile applied to the nodes of one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.evaluation.evaluation_cache import Evaluations
from berth.scheduling.evaluation.filter_result import NO_ONE, FilterResult
from berth.scheduling.evaluation.nominated_pods import nodes_with_assumed, nominated_verdicts
from berth.scheduling.framework.profile import Profile, Scale
from berth.scheduling.framework.score_scaling import extender_scale
from berth.scheduling.framework.status import Code, Status
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.plugins.managed_resources import ManagedResources
from berth.scheduling.policy_options import Choose, Exemption, PreemptionConfiguration, Unresolvable
from berth.scheduling.preemption.eligibility import room_is_coming
from berth.scheduling.preemption.victim_review import LeftOut, PreemptResult, Proposal, review_victims
from berth.scheduling.preemption.victims import least_damage
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

NO_PROFILES: Mapping[str, Profile] = {}
NOTHING_COUNTED = Counting()
ALL_CANDIDATES = PreemptionConfiguration()


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Which names of a request the pod may go to, in the request's order, and why not to the others."""

    feasible: list[str]
    rejected: Mapping[str, Status]
    exempt: bool = False


class Policy:
    """What one configuration decides. Holds remembered verdicts; otherwise without state, and safe between threads.

    `profiles`: by schedulerName, for pods of schedulers that have one of their own; `profile` is for the others.
    """

    def __init__(
        self,
        profile: Profile,
        exemption: Exemption,
        profiles: Mapping[str, Profile] = NO_PROFILES,
        *,
        counting: Counting = NOTHING_COUNTED,
        preemption: PreemptionConfiguration = ALL_CANDIDATES,
        unresolvable: Unresolvable = Unresolvable.ALWAYS,
    ) -> None:
        """counting: how resources are counted, for bind and the watcher; the profiles have it in their plugins."""
        self.profile = profile
        self.counting = counting
        self._preemption, self._unresolvable = preemption, unresolvable
        self._profiles = profiles
        self._exemption = exemption
        self._counting_alone = {each.name: _counting_alone(each) for each in (profile, *profiles.values())}
        self._evaluations = Evaluations()

    @property
    def all_profiles(self) -> tuple[Profile, ...]:
        """Every profile that decides for some pod."""
        return (self.profile, *self._profiles.values())

    def profile_of(self, pod: Pod) -> Profile:
        """The profile that decides for this pod; of an exempt one, what counts in it."""
        profile = self._profiles.get(pod.scheduler_name, self.profile)
        return self._counting_alone[profile.name] if self._exemption.covers(pod) else profile

    def exempts(self, pod: Pod) -> bool:
        """Whether this pod passes every node, whatever the profile.

        What is counted is not there for an exempt pod either: bind would refuse it, again and again.
        """
        return self._exemption.covers(pod) and not (self.profile_of(pod).filters and self.counting.demands(pod))

    def counts(self, pod: Pod) -> bool:
        """Whether the pod asks for what is counted: then what is used has to be known."""
        return bool(self.counting.demands(pod))

    def feasibility(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Feasibility:
        """A verdict for every name, once where one is repeated. An exempt pod passes them all."""
        located = NodeRefs.of(names, snapshot.positions)
        if self.exempts(pod):
            return Feasibility(located.names, NO_ONE, exempt=True)
        split = self._split(pod, located, snapshot)
        return Feasibility(split.names, split.dropped)

    def scores(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> list[int]:
        """One integer per name, in the same order. For an exempt pod, and for nodes that are not feasible, 0."""
        if self._exemption.covers(pod):
            return [0] * len(names)
        located = NodeRefs.of(names, snapshot.positions)
        split = self._evaluation(pod, snapshot).statuses.split(located)
        totals = self._totals(pod, split.passed, snapshot)
        if self.profile_of(pod).scale is Scale.EXTENDER:
            totals = extender_scale(totals)
        if len(totals) == len(names):
            return totals
        scores = dict(zip(split.names, totals, strict=True))
        return [scores.get(name, 0) for name in names]

    def resolvable(self, pod: Pod, rejected: Mapping[str, Status], snapshot: Snapshot) -> set[str]:
        """Which of the nodes that were rejected the scheduler is told that preemption may help on (facts 15, 15a)."""
        found: set[str] = set()
        if self._unresolvable is Unresolvable.AS_PLUGINS_SAY:
            found = {name for name, status in rejected.items() if status.code is Code.UNSCHEDULABLE}
        name = pod.nominated_node
        if name and name in rejected:
            settled = snapshot.settled
            if room_is_coming(self._evaluation_of(pod, settled, snapshot), pod):
                found.add(name)
        return found

    def review_victims(self, pod: Pod, proposals: Mapping[str, Proposal], snapshot: Snapshot) -> PreemptResult:
        """What is left of the scheduler's candidates for preemption, see `agreement`. An exempt pod may go anywhere.

        With `choose: one` it is the best of them, the first by name where several are.
        """
        settled = snapshot.settled
        evaluation = None if self.exempts(pod) else self._evaluation_of(pod, settled, snapshot)
        found = review_victims(evaluation, pod, proposals, settled.nodes)
        if self._preemption.choose is Choose.ALL:
            return found
        best = {name: found.victims[name] for name in least_damage(found.victims)[:1]}
        others = {name: LeftOut.NOT_BEST for name in found.victims if name not in best}
        return PreemptResult(best, {**found.left_out, **others})

    def best(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Feasibility:
        """Like `feasibility`, with only the highest scored feasible name left; equal scores go by name.

        Feasible names that were not chosen have no entry: they are no failure (fact 47). An exempt pod keeps them all.
        """
        located = NodeRefs.of(names, snapshot.positions)
        if self.exempts(pod):
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
        return self._evaluations.of(self.profile_of(pod), pod, snapshot.unassumed)

    def _evaluation_of(self, pod: Pod, settled: Snapshot, snapshot: Snapshot) -> Evaluation:
        """Preemption is rare, and so are pods being bound at the time: it is worked out anew then."""
        if settled is snapshot:
            return self._evaluation(pod, snapshot)
        profile = self.profile_of(pod)
        return Evaluation.of(profile, pod, settled, LocalEvaluation.of(profile, pod, settled))

    def _split(self, pod: Pod, located: NodeRefs, snapshot: Snapshot) -> FilterResult:
        evaluation = self._evaluation(pod, snapshot)
        split = evaluation.statuses.split(located)
        exceptions = nominated_verdicts(evaluation, snapshot, pod, located.names)
        return split.amended(exceptions) if exceptions else split

    def _totals(self, pod: Pod, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        instead = nodes_with_assumed(snapshot, pod, candidates)
        totals = self._evaluation(pod, snapshot).totals(pod, candidates, instead)
        # Where the pod cannot be scored, the scheduler's own scores decide.
        return [0] * len(candidates) if isinstance(totals, Status) else totals


def _counting_alone(profile: Profile) -> Profile:
    """What of a profile holds for exempt pods, too."""
    filters = tuple(plugin for plugin in profile.filters if isinstance(plugin, ManagedResources))
    return Profile(f"{profile.name} (exempt)", filters, ())
