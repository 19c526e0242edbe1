"""Scenario 2, resource-segregation: 9 nodes without GPUs and 6 nodes with GPUs. The pods are placed first without and
then with the policy, as `berth simulate` does. The cluster and pods are from examples/resource-segregation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.demo import view
from berth_cli.demo.view import Occupants
from berth_cli.placement.queue import read_queue
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.sources.dump.cluster import read_dump
from berth_cli.sources.dump.manifests import Manifests, read_manifests
from berth_cli.terminal.input_files import PROJECT

EXAMPLE = PROJECT / "examples" / "resource-segregation"
TITLES = ("the scheduler alone", "with resource-segregation")

EXTRA_POD: Object = {
    "kind": "Pod",
    "metadata": {"name": "api-19"},
    "spec": {"containers": [{"name": "api", "resources": {"requests": {"cpu": "4", "memory": "8Gi"}}}]},
}


def run() -> None:
    """Run the scenario."""
    configuration = BerthConfiguration(profile="resource-segregation")
    nodes, deployed = read_dump(EXAMPLE / "cluster.yaml"), read_manifests([EXAMPLE / "pods.yaml"])
    cluster, queue = read_queue(nodes, "the example", configuration, manifests=deployed)
    [one_more] = Manifests((EXTRA_POD,)).read(cluster.priority_classes)

    full = configuration.build_profile(FULL)
    with_policy = ControlLoop(full, cluster.snapshot, PolicyExtender(configuration.policy()))
    view.heading("9 nodes without a GPU, 6 with two each: 18 api pods, then 12 trainers that request a GPU")
    alone = list(ControlLoop(full, cluster.snapshot).run(queue.pods))
    segregated = list(with_policy.run(queue.pods))
    view.before_and_after(TITLES, _occupants(cluster.snapshot, alone), _occupants(cluster.snapshot, segregated))
    for title, outcomes in zip(TITLES, (alone, segregated), strict=True):
        _print_outcomes(title, outcomes)
    view.heading("One more api pod than the nodes without a GPU can hold: the message of its event")
    _print_outcomes("api-19", [with_policy.schedule(one_more)])


def _occupants(snapshot: Snapshot, outcomes: Sequence[Outcome]) -> Occupants:
    found: dict[str, list[str]] = {name: [] for name in snapshot.nodes}
    for outcome in outcomes:
        if outcome.node:
            found[outcome.node].append(outcome.pod.labels["app"])
    return found


def _print_outcomes(subject: str, outcomes: Sequence[Outcome]) -> None:
    """Print the outcomes. `subject`: a pod, or the rule under which several pods were placed."""
    several = len(outcomes) > 1
    pending = Counter(outcome.message for outcome in outcomes if not outcome.node)
    if not pending:
        view.success(f"{subject}: all {len(outcomes)} pods run" if several else f"{subject} runs on {outcomes[0].node}")
    for message, count in pending.items():
        view.pending(f"{subject}{f': {count} of {len(outcomes)} pods are' if several else ' is'} Pending: {message}")
