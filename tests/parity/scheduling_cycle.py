"""One scheduling cycle in detail: the verdict of every plugin on every node, and every score.

The verbs return only a summary. The comparison with kube-scheduler and the tests of plugins need the details.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation, nominated_verdicts
from berth.scheduling.evaluation.local_scores import plugin_scores
from berth.scheduling.framework.plugin import MAX_NODE_SCORE, SUCCESS, Code, Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.preemption import Preemption, evaluate


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one node. `status`: the status of the first plugin that rejects it. `alone`: the status of each
    plugin by itself.
    """

    status: Status
    alone: Mapping[str, Status]


@dataclass(frozen=True, slots=True)
class Cycle:
    """The result of a cycle. Scores exist for feasible nodes only, and only if there are several.

    `preemption`: the result of preemption if no node is feasible. `error`: why the cycle fails, in kube-scheduler's
    words; verdicts made before the error are kept.
    """

    verdicts: Mapping[str, Verdict]
    feasible: Sequence[str] = ()
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    preemption: Preemption | None = None
    error: str | None = None


def run(profile: Profile, pod: Pod, snapshot: Snapshot) -> Cycle:
    """Run the cycle on all nodes; kube-scheduler may sample them."""
    evaluation = _evaluation(profile, pod, snapshot)
    statuses = _statuses(evaluation, pod)
    error = _error(statuses, "PreFilter")
    if error is not None:
        return Cycle({}, error=error)
    alone = {
        plugin.name: _statuses(_evaluation(Profile(plugin.name, (plugin,), ()), pod, snapshot), pod)
        for plugin in profile.filters
    }
    verdicts = {
        name: Verdict(status, {plugin: found[name] for plugin, found in alone.items()})
        for name, status in statuses.items()
    }
    feasible = [name for name, status in statuses.items() if status is SUCCESS]
    if pod.nominated_node in feasible:
        # If the nominated node is feasible, kube-scheduler does not evaluate the others.
        feasible = [pod.nominated_node]
    if not feasible:
        return Cycle(verdicts, preemption=evaluate(evaluation, pod, statuses))
    if len(feasible) < 2:
        return Cycle(verdicts, feasible)
    columns: dict[str, dict[str, int]] = {}
    totals = dict.fromkeys(feasible, 0)
    node_refs = NodeRefs.of(feasible, snapshot.positions)
    for plugin, weight in profile.scores:
        found = plugin_scores(plugin, pod, snapshot, node_refs)
        if isinstance(found, Status):
            return Cycle(verdicts, feasible, error=f'running PreScore plugin "{plugin.name}": {found.message}')
        if not all(0 <= score <= MAX_NODE_SCORE for score in found):
            return Cycle(verdicts, feasible, error=f'applying score defaultWeights on Score plugins: "{plugin.name}"')
        columns[plugin.name] = dict(zip(feasible, found, strict=True))
        for name, score in columns[plugin.name].items():
            totals[name] += score * weight
    return Cycle(verdicts, feasible, columns, totals)


def _evaluation(profile: Profile, pod: Pod, snapshot: Snapshot) -> Evaluation:
    return Evaluation.of(profile, pod, snapshot, LocalEvaluation.of(profile, pod, snapshot))


def _statuses(evaluation: Evaluation, pod: Pod) -> dict[str, Status]:
    names = evaluation.snapshot.nodes
    exceptions = nominated_verdicts(evaluation, evaluation.snapshot, pod, list(names))
    return {name: exceptions.get(name) or evaluation.statuses[name] for name in names}


def _error(statuses: Mapping[str, Status], step: str) -> str | None:
    """Return an error for the whole pod, which fails the cycle. An error of one node affects that node only."""
    for status in statuses.values():
        if status.code is Code.ERROR and status.plugin:
            return f'running {step} plugin "{status.plugin}": {status.message}'
    return None
