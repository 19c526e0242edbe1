"""A history of one pod that may evict others, with filter and preempt on a cache that lags behind the scheduler.

The scheduler is modelled as in spec/LateView.tla: it lists nodes by its own rule (room), preempts if none is left,
nominates the node, and tries the pod again with each change that it learns of. filter and preempt are real.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import orjson

from berth.extender.filter import answer_filter
from berth.extender.preempt import AnsweredVictims, answer_preempt
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with, tried
from tests.builders.requests import body_of, cache_mode, victims_by_uid
from tests.fakes.node_cache import FixedNodeCache

Object = dict[str, Any]

TEAM = {"team": "a"}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": TEAM}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}
RULES = BerthConfiguration.model_validate(
    {"profile": "apart", "definitions": {"apart": {"plugins": {"enabled": [{"name": "InterPodAffinity"}]}}}}
)
LOW, HIGH = 0, 1000
STEPS = 100
MAX_VERSIONS = 60


@dataclass(frozen=True)
class Running:
    """A pod on a node. The scheduler rejects the node if takes_room, Berth if in_team. ends: it may end by itself."""

    node: str
    priority: int = LOW
    takes_room: bool = False
    in_team: bool = False
    ends: bool = False


@dataclass(frozen=True)
class State:
    """The state of the API server at one version."""

    nodes: frozenset[str]
    pods: Mapping[str, Running]
    nominated: str = ""
    failed: str = ""

    def on(self, node: str) -> list[str]:
        return [name for name, pod in self.pods.items() if pod.node == node]

    def has_room(self, node: str) -> bool:
        return node in self.nodes and not any(self.pods[name].takes_room for name in self.on(node))

    def fits(self, node: str) -> bool:
        return self.has_room(node) and not any(self.pods[name].in_team for name in self.on(node))

    def pod(self, version: int) -> Object:
        status = {"nominatedNodeName": self.nominated}
        found = pod_with("high", TEAM, priority=HIGH, affinity=APART, status=status)
        return tried(found, str(version), self.failed) if self.failed else found

    def objects(self, version: int) -> list[Object]:
        pods = [
            pod_with(name, TEAM if pod.in_team else {}, nodeName=pod.node, priority=pod.priority)
            for name, pod in self.pods.items()
        ]
        return [*map(node_with, sorted(self.nodes)), *pods, self.pod(version)]


@dataclass
class History:
    """A run, and the nodes where the pod evicted others. wakes: whether a change in Berth's cache wakes the pod."""

    random: Random
    joins: Sequence[str]
    versions: list[State]
    wakes: bool = True
    scheduler: int = 0
    berth: int = 0
    queue: str = "active"
    first: State | None = None
    victims: set[str] = field(default_factory=set)
    doomed: set[str] = field(default_factory=set)
    costs: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    answered: AnsweredVictims = field(default_factory=AnsweredVictims)

    @classmethod
    def of(cls, seed: int) -> History:
        random = Random(seed)
        nodes = [f"n{number}" for number in range(random.randrange(2, 5))]
        joins = nodes[: random.randrange(2)]
        pods: dict[str, Running] = {}
        for node in nodes:
            if node in joins:
                continue
            kind = random.choice(("room", "room and rule", "rule", "firm", "firm for good"))
            if "room" in kind:
                pods[f"{node}-room"] = Running(node, takes_room=True)
            if "rule" in kind:
                pods[f"{node}-rule"] = Running(node, in_team=True)
            if kind.startswith("firm"):
                pods[f"{node}-firm"] = Running(node, HIGH, in_team=True, ends=kind == "firm")
        return cls(random, joins, [State(frozenset(nodes).difference(joins), pods)])

    def run(self) -> History:
        """Take steps in a random order, then the remaining steps soonest first. Record the broken guarantees."""
        for _ in range(STEPS):
            steps = self._steps()
            if not steps or self.queue == "bound":
                break
            steps[min(self.random.choices(range(len(steps)), k=4))]()
        self.joins = ()
        while self.queue != "bound" and len(self.versions) <= MAX_VERSIONS and (steps := self._steps(settles=True)):
            steps[0]()
        if len(self.versions) > MAX_VERSIONS:
            self.broken.add("writes without end")
        if self.queue != "bound" and any(self.versions[-1].fits(node) for node in self.versions[-1].nodes):
            self.broken.add("is not placed")
        if len(self.costs) > 1:
            self.broken.add("evicts on two nodes")
        return self

    def _steps(self, *, settles: bool = False) -> list[Any]:
        """Return the possible next steps, soonest first: Berth learns of a change after the scheduler."""
        now = self.versions[-1]
        steps: list[Any] = []
        if self.queue == "active":
            steps.append(self._attempt)
        if self.scheduler < len(self.versions) - 1:
            steps.append(self._scheduler_learns)
        steps += [lambda name=name: self._delete(name) for name in sorted(self.doomed)]
        if not settles:
            steps += [lambda node=node: self._join(node) for node in self.joins if node not in now.nodes]
            steps += [lambda name=name: self._end(name) for name, pod in now.pods.items() if pod.ends]
        if self.berth < self.scheduler:
            steps.append(self._berth_learns)
        if self.queue == "backoff":
            steps.append(self._activate)
        return steps

    def _activate(self) -> None:
        self.queue = "active"

    def _scheduler_learns(self) -> None:
        self.scheduler += 1
        # The scheduler's own write wakes the pod, too (fact 43).
        if self.queue == "waiting":
            self.queue = "active"

    def _berth_learns(self) -> None:
        self.berth += 1
        if self.queue == "waiting" and self.wakes:
            self.queue = "active"

    def _join(self, node: str) -> None:
        self._change(nodes=self.versions[-1].nodes | {node})

    def _end(self, name: str) -> None:
        self._change(pods={key: pod for key, pod in self.versions[-1].pods.items() if key != name})

    def _delete(self, name: str) -> None:
        self._end(name)
        self.doomed.discard(name)
        if not self.doomed:
            self.queue = "waiting"

    def _change(self, **fields: Any) -> None:
        changed = replace(self.versions[-1], **fields)
        if changed != self.versions[-1]:
            self.versions.append(changed)

    def _attempt(self) -> None:
        seen = self.versions[self.scheduler]
        self.first = self.first or seen
        listed = [node for node in sorted(seen.nodes) if seen.has_room(node)]
        answer: Any = {"NodeNames": [], "FailedNodes": {}, "Error": ""}
        if listed:
            answer = self._filter(seen, listed)
        if answer["NodeNames"]:
            self.queue = "bound"
        elif answer["Error"]:
            self._fail("SchedulerError", nominated="")
            self.queue = "backoff"
        else:
            self._preempt(seen, answer["FailedNodes"])

    def _filter(self, seen: State, listed: Sequence[str]) -> Any:
        return orjson.loads(answer_filter(body_of(cache_mode(listed, seen.pod(self._failed_at))), self._cache()).body)

    def _preempt(self, seen: State, failed: Mapping[str, str]) -> None:
        if self.victims & seen.pods.keys():
            # The victims are terminating: the pod is not eligible to preempt others (fact 33).
            self.queue = "waiting"
            return
        candidates = {
            node: [f"uid-{name}" for name in seen.on(node) if seen.pods[name].takes_room]
            for node in sorted(seen.nodes)
            if not seen.has_room(node)
        }
        if not candidates:
            # The scheduler finds no victims on a node in FailedNodes: an error, which keeps the nomination.
            self._fail(nominated=seen.nominated if failed else "")
            self.queue = "waiting"
            return
        request = body_of(victims_by_uid(candidates, pod=seen.pod(self._failed_at)))
        found = orjson.loads(answer_preempt(request, self._cache(), answered=self.answered).body)
        accepted = found["NodeNameToMetaVictims"]
        self.queue = "waiting"
        if not accepted:
            self._fail()
            return
        node = self.random.choice(sorted(accepted))
        victims = {victim["UID"].removeprefix("uid-") for victim in accepted[node]["Pods"]}
        if not victims <= seen.pods.keys():
            self._fail()  # the scheduler's call fails (fact 26)
            return
        first = seen if self.first is None else self.first
        cached = self.versions[self.berth]
        if any(seen.fits(node) and (node not in cached.nodes or first.fits(node)) for node in seen.nodes):
            self.broken.add("evicts while a node fits")
        self.costs.add(node)
        self.victims, self.doomed, self.queue = victims, set(victims), "gated"
        self._fail(nominated=node)

    def _fail(self, reason: str = "Unschedulable", **fields: str) -> None:
        """Write the pod's condition and nomination as the scheduler does."""
        seen, nominated = self.versions[self.scheduler], fields.get("nominated", self.versions[-1].nominated)
        if seen.nominated and not nominated and seen.fits(seen.nominated):
            self.broken.add("loses its nomination")
        self._change(failed=reason, nominated=nominated)

    @property
    def _failed_at(self) -> int:
        """Version at which the pod got the state that the scheduler knows."""
        pod = [(state.failed, state.nominated) for state in self.versions[: self.scheduler + 1]]
        return next(number for number in range(len(pod)) if all(each == pod[-1] for each in pod[number:]))

    def _cache(self) -> FixedNodeCache:
        objects = self.versions[self.berth].objects(self.berth)
        return FixedNodeCache.of(RULES, *objects, pods_version=str(self.berth))


class ForgetfulVictims(AnsweredVictims):
    """A preempt that does not remember its answers."""

    def answer(self, pod: Pod, found: Mapping[str, Any]) -> None:
        return None
