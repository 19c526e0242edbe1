"""Waiting pods, in virtual time: the real wake-up behind a leader, a scheduler that tries a rejected pod only when its
queue is woken, and a rule of Berth's that is judged on what is published.

A node that is open takes one pod of each team, if it has room: of that the scheduler alone knows. Nodes open and close,
pods come, go, change their team, are deleted at the moment they are bound and created anew under their name; watches
lag, writes and wake-ups are slow or fail, leaders are replaced. At every step the seed decides what comes first.

Invariants: after some quiet no pod is left that fits. In histories in which nothing fails it is placed in time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any

from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.head import Observation, Position
from berth.nodecache.feed.leader import ObservedState, Publication
from berth.scheduling.framework.plugin import EVENTS_ON_ONE_NODE
from berth.scheduling.objects.projection import rejected_by_berth
from berth.upkeep.wake_up import SchedulingQueue, WaitingPod, WakeUp
from tests.simulation.world import EPOCH, Actor, World

NODES, PODS = "nodes", "pods"
NAMES = ("n1", "n2")
POD_NAMES = ("p1", "p2", "p3", "p4", "p5")
TEAMS = ("blue", "green")
ROUNDS = 10
BURST_SECONDS, QUIET_SECONDS = 3.0, 60.0
"""A round: some changes, and enough time for every watch to catch up and for a budget that was spent."""
PLACED_SECONDS = 2.0
MONITOR_SECONDS = 0.1
REGISTERED = EVENTS_ON_ONE_NODE
DISTURBANCES = ("open", "room", "pod", "pod", "team", "team", "fault")


@dataclass(frozen=True, slots=True)
class Plan:
    """Seconds, and shares. flush: between publications. late: of a write. lag: of an interrupted watch. failing: of the
    wake-ups amid disturbances. handovers: of the faults; relists: of the others. readable_after: how old the state may
    be that a verb remembers. batch: changes in one publication at most."""

    seed: int
    flush: float = 0.5
    late: float = 0.0
    lag: float = 0.0
    failing: float = 0.0
    handovers: float = 0.0
    relists: float = 0.0
    readable_after: float = 0.0
    batch: int = 100
    disturbances: tuple[str, ...] = DISTURBANCES

    @property
    def is_faultless(self) -> bool:
        """Then pods are placed in time."""
        return self == Plan(self.seed, self.flush)

    @classmethod
    def drawn(cls, seed: int) -> Plan:
        """Of many kinds, so that no fault hides what another does."""
        random = Random(seed)
        flush = random.choice((0.05, 0.5))
        if random.random() < 0.25:
            return cls(seed, flush)
        if random.random() < 0.2:
            return cls(seed, flush, lag=6.0, relists=1.0, disturbances=("pod", "pod", "pod", "fault"))
        if random.random() < 0.1:
            return cls(seed, flush, handovers=1.0, batch=1, disturbances=("team", "team", "pod", "fault"))

        def sometimes(most: float) -> float:
            return random.choice((0.0, 0.0, most))

        return cls(
            seed,
            flush,
            sometimes(3.0),
            sometimes(12.0),
            sometimes(0.5),
            sometimes(0.5),
            sometimes(0.5),
            random.choice((0.0, 0.0, 0.0, 2.0)),
            random.choice((1, 100)),
        )


@dataclass(frozen=True, slots=True)
class Node:
    """is_open: for Berth. has_room: for the scheduler's own plugins."""

    is_open: bool = True
    has_room: bool = True

    def projected(self) -> Object:
        """As the watcher keeps it, without its name."""
        return {"metadata": {"labels": {"open": self.is_open, "room": self.has_room}}}


@dataclass(frozen=True, slots=True)
class Pod:
    """rejected: by Berth, as its condition says."""

    uid: str
    team: str
    node: str = ""
    rejected: bool = False

    def projected(self) -> Object:
        """As the watcher keeps it."""
        return {
            "metadata": {"uid": self.uid, "labels": {"team": self.team}},
            "spec": {"nodeName": self.node} if self.node else {},
            "status": {"phase": "Pending"},
            "shared": "",
            **({"rejectedByBerth": True} if self.rejected else {}),
        }


class Watch:
    """What came of one resource and was not taken yet. Nothing overtakes."""

    def __init__(self, world: World, latency: Callable[[], float]) -> None:
        self._world = world
        self._latency = latency
        self.silent_until = 0.0
        self._last = 0.0
        self.arrived: deque[tuple[str, Object | None, int, float]] = deque()

    def send(self, name: str, obj: Object | None, version: int) -> None:
        """It arrives later."""
        now = self._world.now
        self._last = at = max(self._last + 1e-6, self.silent_until, now + self._latency())
        self._world.after(at - now, lambda: self.arrived.append((name, obj, version, at)))


class ApiServer:
    """All objects, and how many writes there were."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {name: Node() for name in NAMES}
        self.pods: dict[str, Pod] = {}
        self.version = 1
        self.watches: dict[str, Watch] = {}
        self.changed = lambda: None

    def put(self, name: str, obj: Node | Pod | None) -> None:
        """None: a pod is deleted."""
        self.version += 1
        resource = NODES if isinstance(obj, Node) else PODS
        if isinstance(obj, Node):
            self.nodes[name] = obj
        elif obj is None:
            del self.pods[name]
        else:
            self.pods[name] = obj
        for kind, watch in self.watches.items():
            if kind == resource:
                watch.send(name, None if obj is None else obj.projected(), self.version)

    def fits(self, pod: Pod) -> bool:
        """Whether the scheduler and Berth would place it, if both knew everything."""
        taken = {other.node for other in self.pods.values() if other.team == pod.team}
        return any(node.is_open and node.has_room and name not in taken for name, node in self.nodes.items())


@dataclass(frozen=True, slots=True)
class Published:
    """What verbs read."""

    objects: Mapping[Key, Object]
    pods: Position

    def fitting(self, team: str, announced: Iterable[Announced]) -> set[str]:
        """The open nodes without a pod of the team."""
        pods = [obj for (kind, _), obj in self.objects.items() if kind == PODS]
        placed = {_field(pod, "metadata", "uid"): _field(pod, "spec", "nodeName") for pod in pods}
        taken = {placed[_field(pod, "metadata", "uid")] for pod in pods if _team(pod) == team}
        taken |= {each.node for each in announced if each.team == team and each.stands(placed, self.pods)}
        nodes = {name: obj for (kind, name), obj in self.objects.items() if kind == NODES}
        return {name for name, obj in nodes.items() if _field(obj, "metadata", "labels")["open"]} - taken


@dataclass(frozen=True, slots=True)
class Announced:
    """A pod that is being bound. version: of the pod, unbound."""

    uid: str
    team: str
    node: str
    version: int

    def stands(self, placed: Mapping[str, str], covered: Position) -> bool:
        """Whether what is published does not show yet what became of the pod (see announcements)."""
        return not placed.get(self.uid) and (self.uid in placed or self.version > int(covered.resource_version))


def _named(name: str, obj: Object) -> Object:
    metadata = obj.get("metadata", {})
    assert isinstance(metadata, Mapping)
    return {**obj, "metadata": {**metadata, "name": name}}


def _field(obj: Object, part: str, name: str) -> Any:
    found: Any = obj[part]
    return found.get(name, "")


def _team(obj: Object) -> str:
    return str(_field(obj, "metadata", "labels")["team"])


def waiting(obj: Object) -> WaitingPod | None:
    """The rule registers every change of a node and the pods on it."""
    return WaitingPod(REGISTERED) if rejected_by_berth(obj) else None


class Queue(SchedulingQueue):
    """The scheduler's, as the watcher reaches it."""

    def __init__(self, history: WakeUpHistory) -> None:
        self._history = history

    def wake(self, waiting: Sequence[str]) -> None:
        history = self._history
        history.world.pause(history.latency())
        if history.random.random() < history.failing:
            raise ClusterUnavailable("connection refused")
        history.world.after(history.latency(), history.scheduler.wake)


class Leader:
    """One leadership: it publishes what its watches bring, and wakes behind that."""

    def __init__(self, history: WakeUpHistory, published: Published | None) -> None:
        self._history = history
        self._world, self._api, self._plan = history.world, history.api, history.plan
        self._state = ObservedState(published.objects if published is not None else {})
        self._backlog: deque[Change] = deque()
        self._watches = {resource: Watch(self._world, history.latency) for resource in (NODES, PODS)}
        self._pods = published.pods if published is not None else Position("0", 0.0, 0.0)
        self._published = published
        self.has_begun = self._is_over = False

    def end(self) -> None:
        self._is_over = True

    def is_over(self) -> bool:
        return self._is_over

    def run(self) -> None:
        """Until it is over; it may end between a publication and its wake-up."""
        if self.is_over():
            return
        self.has_begun = True
        history, world = self._history, self._world
        clock = world.clock(world.current())
        wake_up = WakeUp(Queue(history), waiting, clock, history.warnings.append, self._plan.readable_after)
        self._list()
        self._api.watches = self._watches
        steps = history.start("wake-up", lambda: self._wake(wake_up))
        while not self.is_over():
            world.pause(self._plan.flush)
            self._take()
            changes = [self._backlog.popleft() for _ in range(min(self._plan.batch, len(self._backlog)))]
            position = self._pods
            world.pause(history.write_latency())
            if self.is_over():
                break  # deposed: it publishes nothing more
            self._publish(changes, position)
            world.pause(history.latency())
            is_complete = not self._backlog
            observation = Observation("cluster", {PODS: self._history.published.pods})
            wake_up.published(Publication(1, changes, dict(self._state.objects), is_complete, observation, {}))
            world.wake(steps)

    def _wake(self, wake_up: WakeUp) -> None:
        while not self.is_over():
            self._world.wait(wake_up.step())

    def _list(self) -> None:
        """All objects as they are now: what came and went since the last publication is never seen."""
        now = self._world.now + EPOCH
        self._state.relist(NODES, [_named(name, each.projected()) for name, each in self._api.nodes.items()])
        self._state.relist(PODS, [_named(name, each.projected()) for name, each in self._api.pods.items()])
        self._pods = Position(str(self._api.version), now, now)

    def _take(self) -> None:
        for resource, watch in self._watches.items():
            while watch.arrived:
                name, obj, version, at = watch.arrived.popleft()
                if obj is None:
                    self._state.remove(resource, _named(name, {}))
                else:
                    self._state.put(resource, _named(name, obj))
                if resource == PODS:
                    self._pods = replace(self._pods, resource_version=str(version), observed_at=at + EPOCH)
        self._backlog.extend(self._state.take_changes())

    def relist(self) -> None:
        """The watch of pods has expired: another one begins at the list."""
        self._watches[PODS] = Watch(self._world, self._history.latency)
        self._list()

    def _publish(self, changes: Sequence[Change], position: Position) -> None:
        before = self._history.published
        objects = dict(before.objects)
        for resource, name, obj in changes:
            objects.pop((resource, name), None)
            if obj is not None:
                objects[resource, name] = obj
        # What is published follows the pods only so far as all of it is.
        if self._backlog:
            position = replace(before.pods, listed_at=position.listed_at)
        self._history.published = Published(objects, position)

    def lag(self, seconds: float) -> None:
        """Nothing more comes of one watch for so long."""
        self._watches[self._history.random.choice((NODES, PODS))].silent_until = self._world.now + seconds


class Scheduler:
    """Tries one pod after another. A pod that Berth rejected is tried again when the queue is woken, one that the
    scheduler itself rejected when a node has room."""

    def __init__(self, history: WakeUpHistory) -> None:
        self._history = history
        self._active: deque[str] = deque()
        self._rejected_by_berth: set[str] = set()
        self._without_room: set[str] = set()
        self._in_flight_events: set[str] = set()
        self._idle: Actor | None = None
        self._read: tuple[float, Published] | None = None
        self.announced: list[Announced] = []

    def add(self, name: str) -> None:
        """A new pod, or one whose turn comes again."""
        self._rejected_by_berth.discard(name)
        self._without_room.discard(name)
        if name not in self._active:
            self._active.append(name)
        if self._idle is not None:
            self._history.world.wake(self._idle)

    def wake(self) -> None:
        """The inert object has changed."""
        self._in_flight_events.add("wake")
        for name in sorted(self._rejected_by_berth):
            self.add(name)

    def room(self) -> None:
        """A node has room again."""
        self._in_flight_events.add("room")
        for name in sorted(self._without_room):
            self.add(name)

    def run(self) -> None:
        """For ever."""
        world = self._history.world
        while True:
            if self._active:
                self._try(self._active.popleft())
            else:
                self._idle = world.current()
                world.wait(QUIET_SECONDS)

    def _try(self, name: str) -> None:
        history, api = self._history, self._history.api
        pod = api.pods.get(name)
        if pod is None or pod.node:
            return
        self._in_flight_events.clear()
        roomy = {each for each, node in api.nodes.items() if node.has_room}
        version = api.version
        history.world.pause(history.latency())
        nodes = roomy & self._state().fitting(pod.team, self.announced) if roomy else set()
        history.world.pause(history.latency())
        if nodes:
            self._bind(name, pod, min(nodes), version)
        else:
            self._reject(name, pod, by_berth=bool(roomy))

    def _state(self) -> Published:
        """What the verb reads; it may remember it for a while."""
        now, last = self._history.world.now, self._read
        if last is None or now - last[0] >= self._history.plan.readable_after:
            self._read = last = now, self._history.published
        return last[1]

    def _reject(self, name: str, pod: Pod, *, by_berth: bool) -> None:
        if {"wake", "room"} & self._in_flight_events:
            self.add(name)
        else:
            (self._rejected_by_berth if by_berth else self._without_room).add(name)
        self._history.world.pause(self._history.write_latency())
        now = self._history.api.pods.get(name)
        if now is not None and now.uid == pod.uid and not now.node and now.rejected is not by_berth:
            self._history.api.put(name, replace(now, rejected=by_berth))

    def _bind(self, name: str, pod: Pod, node: str, version: int) -> None:
        history = self._history
        announced = Announced(pod.uid, pod.team, node, version)
        self.announced.append(announced)
        history.world.pause(history.latency())
        now = history.api.pods.get(name)
        if now is None or now.uid != pod.uid or now.team != pod.team:
            self.announced.remove(announced)  # its Binding is refused: it is withdrawn
            if now is not None:
                self.add(name)
            return
        history.api.put(name, replace(now, node=node, rejected=False))
        history.bound(name)


class WakeUpHistory:
    """One history."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.random = Random(plan.seed)
        self.world = World(plan.seed)
        self.api = ApiServer()
        self.published = Published({}, Position("0", 0.0, 0.0))
        self.scheduler = Scheduler(self)
        self.warnings: list[str] = []
        self.failing = 0.0
        self._actors: list[Actor] = []
        self._is_troubled = False
        self._deletes_bound = False
        self._uids = count()
        self._fits_since: dict[str, float] = {}
        self._leader = Leader(self, None)

    def latency(self) -> float:
        """Of what is usually quick."""
        return self.random.uniform(0.001, 0.03)

    def write_latency(self) -> float:
        """Of a write, which may be late."""
        late = self._is_troubled and self.random.random() < 0.3
        return self.random.uniform(0.002, 0.05) + (self.random.random() * self.plan.late if late else 0.0)

    def start(self, name: str, body: Callable[[], object]) -> Actor:
        """An actor that ends with the history."""
        self._actors.append(self.world.start(name, body))
        return self._actors[-1]

    def run(self) -> None:
        """Raises AssertionError where a pod is forgotten, or late in a history in which nothing fails."""
        try:
            self._run()
        finally:
            for actor in self._actors:
                self.world.crash(actor)
            self.world.run(self.world.now)

    def _run(self) -> None:
        self.start("leader", self._leader.run)
        self.start("scheduler", self.scheduler.run)
        self.start("monitor", self._monitor)
        for _ in range(ROUNDS):
            begun = self.world.now
            self._is_troubled, self.failing = True, self.plan.failing
            self._deletes_bound = self.random.random() < 0.3
            for _ in range(self.random.randint(1, 5)):
                self.world.run(self.world.now + self.random.random() * 0.8)
                self._disturb()
            self.world.run(begun + BURST_SECONDS + self.plan.late)
            self._is_troubled, self.failing, self._deletes_bound = False, 0.0, False
            self.world.run(begun + QUIET_SECONDS)
            for name, pod in self.api.pods.items():
                assert pod.node or not self.api.fits(pod), f"{name} is forgotten"

    def bound(self, name: str) -> None:
        """A pod has its node."""
        if self._deletes_bound:
            self.world.after(self.random.random() * 0.4, lambda: self._delete(name))

    def _delete(self, name: str) -> None:
        if name in self.api.pods:
            self.api.put(name, None)
            if self.random.random() < 0.5:
                self._create(name)

    def _create(self, name: str) -> None:
        self.api.put(name, Pod(f"{name}-{next(self._uids)}", self.random.choice(TEAMS)))
        self.world.after(self.latency(), lambda: self.scheduler.add(name))

    def _disturb(self) -> None:
        random, api = self.random, self.api
        name, pod_name = random.choice(NAMES), random.choice(POD_NAMES)
        node, pod = api.nodes[name], api.pods.get(pod_name)
        match random.choice(self.plan.disturbances):
            case "open":
                api.put(name, replace(node, is_open=not node.is_open))
            case "room":
                api.put(name, replace(node, has_room=not node.has_room))
                self.world.after(self.latency(), self.scheduler.room)
            case "pod" if pod is None:
                self._create(pod_name)
            case "pod":
                self._delete(pod_name)
            case "team" if pod is not None and pod.node:
                api.put(pod_name, replace(pod, team=random.choice(TEAMS)))
            case "fault":
                self._fail()

    def _fail(self) -> None:
        if self.random.random() < self.plan.handovers:
            self._leader.end()
            self._leader = Leader(self, self.published)
            leader = self._leader
            self.world.after(self.random.random() * 3.0, lambda: self.start("leader", leader.run))
        elif self.plan.lag and self._leader.has_begun:
            self._leader.lag(self.random.random() * self.plan.lag)
            if self.random.random() < self.plan.relists:
                self.world.after((0.3 + 0.7 * self.random.random()) * self.plan.lag, self._leader.relist)

    def _monitor(self) -> None:
        """How long pods have fitted."""
        while True:
            self.world.pause(MONITOR_SECONDS)
            for name, pod in self.api.pods.items():
                if pod.node or not self.api.fits(pod):
                    self._fits_since.pop(pod.uid, None)
                else:
                    since = self._fits_since.setdefault(pod.uid, self.world.now)
                    is_late = self.world.now - since > PLACED_SECONDS
                    assert not (is_late and self.plan.is_faultless), f"{name} is late"
