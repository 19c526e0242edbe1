"""Waiting pods, in virtual time: the real wake-up behind a leader, a scheduler that tries a rejected pod only when its
queue is woken, and a rule that Berth evaluates on the published state.

An open node takes one pod of each team if it has room, which only the scheduler knows. Nodes open and close; pods come,
go, change their team, are deleted when they are bound, and are recreated under their name; watches lag; writes and
wake-ups are slow or fail; leaders are replaced. At every step the seed decides which event comes first.

Invariants: some time after the last change, no pod that fits still waits. If nothing fails, pods are placed in time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from berth.nodecache.feed.head import Position
from tests.simulation.world import Actor, World

from .cluster import NAMES, Announced, ApiServer, Pod, Published
from .leader import Leader

POD_NAMES = ("p1", "p2", "p3", "p4", "p5")
TEAMS = ("blue", "green")
ROUNDS = 10
BURST_SECONDS, QUIET_SECONDS = 3.0, 60.0
"""Seconds of a round: some changes, then enough time for every watch to catch up and for a spent budget to refill."""
PLACED_SECONDS = 2.0
MONITOR_SECONDS = 0.1
DISTURBANCES = ("open", "room", "pod", "pod", "team", "team", "fault")


@dataclass(frozen=True, slots=True)
class Plan:
    """Times in seconds, and shares. flush: time between publications. late: delay of a write. lag: of an interrupted
    watch. failing: share of failing wake-ups during disturbances. handovers: share of hand-overs in faults. relists:
    share of relists in the other faults. readable_after: the greatest age of the state that a verb uses. batch: the
    most changes in a publication. disturbances: the kinds to draw from; a kind may be repeated."""

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
        return self == Plan(self.seed, self.flush)

    @classmethod
    def drawn(cls, seed: int) -> Plan:
        """Draw a plan of one of many kinds, so that no fault hides the effects of another."""
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


class Scheduler:
    """Tries one pod after another. A pod that Berth rejected is tried again when the queue is woken, a pod that the
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
        """Add a new pod, or a pod that is tried again."""
        self._rejected_by_berth.discard(name)
        self._without_room.discard(name)
        if name not in self._active:
            self._active.append(name)
        if self._idle is not None:
            self._history.world.wake(self._idle)

    def wake(self) -> None:
        self._in_flight_events.add("wake")
        for name in sorted(self._rejected_by_berth):
            self.add(name)

    def room(self) -> None:
        self._in_flight_events.add("room")
        for name in sorted(self._without_room):
            self.add(name)

    def run(self) -> None:
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
        """Return the state that the verb reads; it may remember it for a while."""
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
            self.announced.remove(announced)  # its Binding is refused: the announcement is withdrawn
            if now is not None:
                self.add(name)
            return
        history.api.put(name, replace(now, node=node, rejected=False))
        history.bound(name)


class WakeUpHistory:
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
        """Draw the duration of an action that is usually quick."""
        return self.random.uniform(0.001, 0.03)

    def write_latency(self) -> float:
        """Draw the duration of a write, which may be late."""
        late = self._is_troubled and self.random.random() < 0.3
        return self.random.uniform(0.002, 0.05) + (self.random.random() * self.plan.late if late else 0.0)

    def start(self, name: str, body: Callable[[], object]) -> Actor:
        self._actors.append(self.world.start(name, body))
        return self._actors[-1]

    def run(self) -> None:
        """Run the history. Raises AssertionError if a pod is forgotten, or late although nothing fails."""
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
        while True:
            self.world.pause(MONITOR_SECONDS)
            for name, pod in self.api.pods.items():
                if pod.node or not self.api.fits(pod):
                    self._fits_since.pop(pod.uid, None)
                else:
                    since = self._fits_since.setdefault(pod.uid, self.world.now)
                    is_late = self.world.now - since > PLACED_SECONDS
                    assert not (is_late and self.plan.is_faultless), f"{name} is late"
