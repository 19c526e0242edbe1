"""Scenario 2, resource-segregation: 9 nodes without a GPU and 6 with GPUs, without and with the policy.

The cluster and pods are from examples/resource-segregation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.framework.plugin import Status, unresolvable
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.demo.extender import Extender, Manifest
from berth_cli.demo.view import Occupants, View, write_dump
from berth_cli.placement.queue import build_queue
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome
from berth_cli.placement.scheduler.extender import Extender as SimulatedExtender
from berth_cli.sources.dump.admission import DEFAULT_SCHEDULER
from berth_cli.sources.dump.cluster import read_cluster, read_dump
from berth_cli.sources.dump.manifests import Manifests, read_manifests
from berth_cli.terminal.input_files import PROJECT

EXAMPLE = PROJECT / "examples" / "resource-segregation"

# The pods of this scenario set schedulerName, unlike those of scenario 1, because one server has a profile for each
# scenario.
PROFILES = {DEFAULT_SCHEDULER: "resource-segregation"}

TITLES = ("the scheduler alone", "with resource-segregation")

EXTRA_POD: Object = {
    "kind": "Pod",
    "metadata": {"name": "api-19"},
    "spec": {"containers": [{"name": "api", "resources": {"requests": {"cpu": "4", "memory": "8Gi"}}}]},
}


class ServedExtender(SimulatedExtender):
    """Calls the extender over HTTP. `manifests`: all pods of the scenario, by UID."""

    def __init__(self, extender: Extender, manifests: Mapping[str, Manifest]) -> None:
        self._extender, self._manifests = extender, manifests

    def filter(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Status]:
        filtered = self._extender.filter(self._manifests[pod.uid], names)
        return {name: unresolvable("", reason) for name, reason in filtered.reasons.items()}

    def prioritize(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Sequence[int]:
        scores = self._extender.prioritize(self._manifests[pod.uid], names)
        return [scores.get(name, 0) for name in names]


def run(path: Path, extender: Extender, run_watcher: Callable[[], object], view: View) -> None:
    """Run the scenario. `path`: the dump that the watcher reads. Raises ExtenderFailed."""
    nodes = list(read_dump(EXAMPLE / "cluster.yaml"))
    deployed = read_manifests([EXAMPLE / "pods.yaml"])
    cluster = read_cluster([*nodes, *deployed.others], "the example")
    waiting = build_queue(deployed.read(cluster.priority_classes), ()).pods
    later = Manifests((EXTRA_POD,))
    stored: list[Manifest] = [*deployed.stored(cluster.priority_classes), *later.stored(cluster.priority_classes)]
    [one_more] = later.read(cluster.priority_classes)
    write_dump(path, [*nodes, *stored])
    run_watcher()

    full = BerthConfiguration(profile=FULL).build_profile(FULL)
    by_uid = {pod["metadata"]["uid"]: pod for pod in stored}
    served = ControlLoop(full, cluster.snapshot, ServedExtender(extender, by_uid))
    view.heading("9 nodes without a GPU, 6 with two each: 18 api pods, then 12 trainers that request a GPU")
    alone = list(ControlLoop(full, cluster.snapshot).run(waiting))
    segregated = list(_bind_placed(extender, by_uid, served.run(waiting)))
    view.before_and_after(TITLES, _occupants(cluster.snapshot, alone), _occupants(cluster.snapshot, segregated))
    for title, outcomes in zip(TITLES, (alone, segregated), strict=True):
        _print_outcomes(view, title, outcomes)
    view.heading("One more api pod than the nodes without a GPU can hold: the message of its event")
    _print_outcomes(view, "api-19", [served.schedule(one_more)])


def _bind_placed(
    extender: Extender, manifests: Mapping[str, Manifest], outcomes: Iterable[Outcome]
) -> Iterator[Outcome]:
    for outcome in outcomes:
        if outcome.node:
            extender.bind(manifests[outcome.pod.uid], outcome.node)
        yield outcome


def _occupants(snapshot: Snapshot, outcomes: Sequence[Outcome]) -> Occupants:
    found: dict[str, list[str]] = {name: [] for name in snapshot.nodes}
    for outcome in outcomes:
        if outcome.node:
            found[outcome.node].append(outcome.pod.labels["app"])
    return found


def _print_outcomes(view: View, subject: str, outcomes: Sequence[Outcome]) -> None:
    """Print the outcomes. `subject`: a pod, or the rule under which several pods were placed."""
    several = len(outcomes) > 1
    pending = Counter(outcome.message for outcome in outcomes if not outcome.node)
    if not pending:
        view.success(f"{subject}: all {len(outcomes)} pods run" if several else f"{subject} runs on {outcomes[0].node}")
    for message, count in pending.items():
        view.pending(f"{subject}{f': {count} of {len(outcomes)} pods are' if several else ' is'} Pending: {message}")
