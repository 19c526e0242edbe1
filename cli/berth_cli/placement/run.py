"""The places of a cluster's pods after a run of the control loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from berth.scheduling.evaluation.verdicts import Rejected
from berth.scheduling.framework.plugin import Status
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.changed_objects import PodName
from berth_cli.placement.report import NO_NODE_TEXT
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome


class PlaceKind(StrEnum):
    """The kind of a pod's place. ABSENT: the cluster does not contain the pod."""

    NODE = "node"
    PENDING = "pending"
    EVICTED = "evicted"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Rule:
    """A plugin that rejects nodes, and the reason with its code; without a plugin, a higher score. count: the number of
    nodes or pods to which the rule applies."""

    plugin: str
    reason: str
    count: int
    code: ReasonCode | None = None

    @property
    def text(self) -> str:
        return f"{self.plugin}: {self.reason}" if self.plugin else self.reason

    def __str__(self) -> str:
        return f"{self.text} ({self.count} {'node' if self.count == 1 else 'nodes'})"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a pod. `message`: for a pending pod, the text of its event; for an evicted pod, the preemptor.
    `rules`: for a pending pod, the rules that reject the nodes, the most frequent first."""

    kind: PlaceKind
    node: str = ""
    message: str = ""
    rules: tuple[Rule, ...] = ()

    def __str__(self) -> str:
        match self.kind:
            case PlaceKind.NODE:
                return self.node
            case PlaceKind.PENDING:
                return NO_NODE_TEXT
            case PlaceKind.EVICTED:
                return "<evicted>"
            case PlaceKind.ABSENT:
                return "-"


NOWHERE = Place(PlaceKind.ABSENT)


NO_COUNTING = Counting()


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run. `places`: the places of the pods that were queued or evicted. `on_nodes`: the node of every
    pod that has one. `priorities`: the priorities of the queued and evicted pods. `counting`: how the
    run's configuration counts resources."""

    places: Mapping[PodName, Place]
    on_nodes: Mapping[PodName, str]
    priorities: Mapping[PodName, int]
    nodes: Mapping[str, NodeInfo]
    counting: Counting = NO_COUNTING

    def place_of(self, pod: PodName) -> Place:
        """Return the pod's place at the end of the run."""
        found = self.places.get(pod)
        if found is not None:
            return found
        node = self.on_nodes.get(pod)
        return NOWHERE if node is None else Place(PlaceKind.NODE, node)

    def count(self, kind: PlaceKind) -> int:
        """Return the number of queued and evicted pods with this kind of place."""
        return sum(place.kind is kind for place in self.places.values())


class RunRecorder:
    """Records the outcomes of a run, one by one."""

    def __init__(self) -> None:
        self._places: dict[PodName, Place] = {}
        self._priorities: dict[PodName, int] = {}

    def add(self, outcome: Outcome) -> None:
        """Record one outcome, and the victims of its preemption."""
        pod = outcome.pod
        name = pod.namespace, pod.name
        self._priorities[name] = pod.priority or 0
        if outcome.preemption is not None:
            for victim in outcome.preemption.victims:
                message = f"evicted for {pod.namespace}/{pod.name}"
                self._places[victim.namespace, victim.name] = Place(PlaceKind.EVICTED, message=message)
                self._priorities.setdefault((victim.namespace, victim.name), victim.priority or 0)
        self._places[name] = (
            Place(PlaceKind.NODE, outcome.node)
            if outcome.node
            else Place(PlaceKind.PENDING, message=outcome.message, rules=rules_of(outcome.rejected))
        )

    def finish(self, snapshot: Snapshot, counting: Counting) -> Run:
        """Return the run. snapshot: the state at its end."""
        on_nodes = {(pod.namespace, pod.name): node.name for node in snapshot.nodes.values() for pod in node.pods}
        return Run(self._places, on_nodes, self._priorities, dict(snapshot.nodes), counting)


def record(loop: ControlLoop, outcomes: Iterable[Outcome], counting: Counting) -> Run:
    """Run the loop to its end and record it. `outcomes`: the loop's outcomes."""
    recorder = RunRecorder()
    for outcome in outcomes:
        recorder.add(outcome)
    return recorder.finish(loop.snapshot, counting)


def rules_of(rejected: Mapping[str, Status]) -> tuple[Rule, ...]:
    """Group the rejections by plugin and reason, the most frequent first."""
    found = rejected if isinstance(rejected, Rejected) else Rejected.of(rejected)
    counted: Counter[tuple[str, str, ReasonCode]] = Counter()
    for index, count in Counter(found.codes).items():
        status = found.statuses[index]
        for reason, code in zip(status.reasons, status.reason_codes, strict=True):
            counted[status.plugin, reason, code] += count
    return tuple(
        Rule(plugin, reason, count, code)
        for (plugin, reason, code), count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    )
