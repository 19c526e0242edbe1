"""Binds of pods that exclude each other, in virtual time: real bind, real announcements, an outdated node cache.

A team may have one pod on a node, by a custom plugin, or one in a zone, by required anti-affinity. Some pods belong to
a scheduler whose profile has no rule: they may go anywhere, and other pods avoid them. At every call of the log, the
cache or the API server the seed decides which actor continues, and whether a bind is slow there. A Binding may arrive
after its sender gave up. Pods end and are created anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from berth.bind.announcing import GRACE_SECONDS, Announcements
from berth.bind.answer import bind
from berth.bind.rules import BindRules
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import BindOutcome
from berth.extender.ports import DecisionContext, NodeCache, PodCoverage
from berth.ledger.announcements import Announcement, AnnouncementLog, AnnouncementReader, BegunBind
from berth.nodecache.binds_under_way import NOTHING_READ, BindsUnderWay
from berth.pods import Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from berth.scheduling.feasibility import Exemption
from berth.scheduling.framework import SUCCESS, FilterPlugin, Status, unschedulable
from berth.scheduling.framework.profile import AnyFilter, Profile
from berth.scheduling.objects import NodeInfo, Pod, read_pods
from berth.scheduling.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.builders.nodes import node
from tests.builders.pods import pod_with
from tests.simulation.world import EPOCH, World

ZONE = "topology.kubernetes.io/zone"
RULED, UNRULED = "ruled", "unruled"
"""Names of schedulers. The profile of UNRULED has no rule."""

TEAMS = 2
PODS = 8
BINDERS = 4
LASTS = 120.0
BIND_SECONDS = 4.0
RECOVERY = 60.0


class OnePerTeam(FilterPlugin):
    """Allows one pod of a team on a node."""

    name = "OnePerTeam"

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        team = state.labels["team"]
        return _TAKEN if any(other.labels["team"] == team for other in node.pods) else SUCCESS


_TAKEN = unschedulable("OnePerTeam", "node(s) had a pod of this team")


@dataclass(frozen=True, slots=True)
class Rule:
    """Allows a team one pod per domain. domains: each node's domain. is_affinity: whether pods' specs have the rule."""

    plugin: AnyFilter
    domains: dict[str, str]
    is_affinity: bool

    @property
    def nodes(self) -> Iterator[NodeInfo]:
        for name, domain in self.domains.items():
            yield node(name, {ZONE: domain})

    def spec(self, team: str, scheduler: str) -> dict[str, Any]:
        """Return the spec of a pod of this team."""
        if not self.is_affinity or scheduler == UNRULED:
            return {"schedulerName": scheduler}
        term = {"labelSelector": {"matchLabels": {"team": team}}, "topologyKey": ZONE}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        return {"schedulerName": scheduler, "affinity": {"podAntiAffinity": required}}


RULES = (
    Rule(OnePerTeam(), {"node-a": "node-a", "node-b": "node-b"}, is_affinity=False),
    Rule(
        InterPodAffinity(InterPodAffinityArgs()),
        {"node-a": "1", "node-b": "1", "node-c": "2", "node-d": "2"},
        is_affinity=True,
    ),
)


@dataclass(slots=True)
class _Pod:
    name: str
    uid: str
    team: str
    scheduler: str
    spec: dict[str, Any]
    version: int
    node: str = ""

    @property
    def content(self) -> dict[str, object]:
        return pod_with(self.name, {"team": self.team}, metadata={"uid": self.uid}, **self.spec, nodeName=self.node)


@dataclass(frozen=True, slots=True)
class _Published:
    snapshot: Snapshot
    seen: PodCoverage


class AnnouncementsHistory:
    """A history, always the same for the same seed. `run` raises AssertionError if the rule is broken."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.rule = RULES[seed % len(RULES)]
        self.lost = 0.25
        """Share of the answers to Bindings that are lost."""
        self.bound = 0
        self.rejected = 0
        self.tries = 0
        """Number of attempts to append an announcement, including those that found their position taken."""
        self.log = InMemoryAnnouncementLog()
        self.order: dict[tuple[str, str], int] = {}
        """The last position of each pod on each node, by UID and node."""
        self.pods: dict[str, _Pod] = {}
        self._versions, self._ids = count(1), count(1)
        self._last_version = 0
        self._ends = False
        self._published = self._observed()

    def run(self) -> None:
        """Run the whole history and the recovery, then check the end state."""
        for number in range(PODS):
            self._create_of_a_team(f"pod-{number}")
        for number in range(BINDERS):
            self.world.start(f"binder-{number}", self._binds)
        self.world.after(0.1, self._publish)
        self.world.after(1.0, self._something_happens)
        self.world.run(LASTS)
        self._ends = True
        self.world.run(LASTS + RECOVERY)
        self._check_end()

    def published(self) -> _Published:
        """Return the state that a reader finds now."""
        return self._published

    def wall(self) -> float:
        return EPOCH + self.world.now

    def binder(self) -> Announcements:
        """Return the announcements of a separate warm environment."""
        return Announcements(
            _Log(self),
            _Cache(self),
            lambda: f"attempt-{next(self._ids)}",
            self.wall,
            self.wait,
            self.world.random.random,
        )

    def bind(self, announcements: Announcements, name: str, on: str) -> BindOutcome:
        binding = Binding("default", name, self.pods[name].uid, on)
        deadline = Deadline(BIND_SECONDS, lambda: self.world.now)
        rules = BindRules(announcements=announcements, schedulers=frozenset({RULED, UNRULED}))
        return bind(binding, _Binder(self), deadline, rules).outcome

    def wait(self, seconds: float) -> None:
        """Wait as bind does before its next try."""
        self.world.pause(seconds)

    def between(self) -> None:
        """Let other actors continue before or after a call. The call may be slow."""
        slow = self.world.random.random() < 0.05
        self.world.pause(2.5 if slow else self.world.random.choice((0.0, 0.0, 0.01, 0.1, 0.6)))

    def find(self, name: str) -> FoundPod | Refused:
        pod = self.pods.get(name)
        if pod is None:
            return Refused(404, f'pods "{name}" not found')
        return FoundPod(pod.uid, pod.node, str(pod.version), False, pod.content)

    def arrived(self, binding: Binding) -> Created | Refused:
        """Carry out a Binding at the API server: uid and resourceVersion are preconditions."""
        pod = self.pods.get(binding.pod_name)
        if pod is None:
            return Refused(404, "not found")
        if (pod.uid, str(pod.version), pod.node) != (binding.pod_uid, binding.resource_version, ""):
            return Refused(409, "the pod has changed")
        pod.node, pod.version = binding.node, self._next_version()
        self.bound += 1
        self._check_rule(pod)
        return Created()

    def _check_rule(self, bound: _Pod) -> None:
        """Assert that, of two pods of a team in a domain, the pod that was announced later has no rule."""
        domain = self.rule.domains[bound.node]
        for other in self.pods.values():
            if other is bound or other.team != bound.team or self.rule.domains.get(other.node) != domain:
                continue
            later = max(other, bound, key=lambda each: self.order.get((each.uid, each.node), 0))
            assert later.scheduler == UNRULED, f"{bound.name} and {other.name} of {bound.team} are in {domain}"

    def _next_version(self) -> int:
        self._last_version = next(self._versions)
        return self._last_version

    def _create_of_a_team(self, name: str) -> None:
        team = f"team-{self.world.random.randrange(TEAMS)}"
        self.create(name, team, UNRULED if self.world.random.random() < 0.2 else RULED)

    def create(self, name: str, team: str, scheduler: str = RULED) -> None:
        spec = self.rule.spec(team, scheduler)
        self.pods[name] = _Pod(name, f"uid-{next(self._ids)}", team, scheduler, spec, self._next_version())

    def _observed(self) -> _Published:
        pods, _ = read_pods(pod.content for pod in self.pods.values())
        seen = PodCoverage(str(self._last_version), self.wall())
        return _Published(Snapshot.of(self.rule.nodes, pods), seen)

    def _publish(self) -> None:
        """Make the current state visible a little later."""
        observed = self._observed()

        def visible() -> None:
            self._published = observed
            self.world.after(self.world.random.uniform(0.2, 2.0), self._publish)

        self.world.after(self.world.random.uniform(0.0, 1.5), visible)

    def _something_happens(self) -> None:
        if self._ends:
            return
        name = self.world.random.choice(sorted(self.pods))
        del self.pods[name]
        self._create_of_a_team(f"pod-{next(self._ids)}")
        self.world.after(self.world.random.uniform(0.2, 2.0), self._something_happens)

    def _binds(self) -> None:
        random = self.world.random
        binder = self.binder()
        while not self._ends:
            self.world.pause(random.uniform(0.0, 0.5))
            waiting = [pod for pod in self.pods.values() if not pod.node]
            if not waiting:
                continue
            pod = random.choice(waiting)
            outcome = self.bind(binder, pod.name, random.choice([*self.rule.domains]))
            self.rejected += outcome is BindOutcome.REJECTED

    def _check_end(self) -> None:
        """Assert that a new reader does not add pods from the log to the cache's pods, and that the log has shrunk."""
        reader, found = AnnouncementReader(self.log), self.published()
        assert reader.pods_to_add(reader.read()[0], found.snapshot, found.seen) == []
        assert len(self.log.read(1)) < self.bound + self.rejected


class _Log(AnnouncementLog):
    def __init__(self, history: AnnouncementsHistory) -> None:
        self._history = history

    def read(self, first: int) -> Sequence[Announcement]:
        self._history.between()
        found = self._history.log.read(first)
        self._history.between()
        return found

    def read_with_begun(self, first: int) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        return self.read(first), ()

    def begin(self, bind: BegunBind) -> None:
        self._history.between()

    def append(self, announcement: Announcement) -> bool:
        self._history.between()
        done = self._history.log.append(announcement)
        self._history.tries += 1
        if done:
            self._history.order[announcement.pod.uid, announcement.pod.node_name] = announcement.position
        self._history.between()
        return done

    def withdraw(self, position: int, attempt: str) -> None:
        self._history.between()
        self._history.log.withdraw(position, attempt)

    def trim(self, position: int, until: float) -> None:
        self._history.between()
        self._history.log.trim(position, until)


class _Cache(NodeCache):
    """The node cache of one binder: it reads the log, then the published state."""

    def __init__(self, history: AnnouncementsHistory) -> None:
        self._history = history
        ruled, unruled = Profile("teams", (history.rule.plugin,), ()), Profile("none", (), ())
        self._policy = Policy(ruled, Exemption(), {UNRULED: unruled})
        self._under_way = BindsUnderWay(None, AnnouncementReader(_Log(history)))

    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        wanted = self._under_way.needs(self._policy)
        read = self._under_way.read(wanted, NOTHING_READ, lambda: None, _fail)
        found = self._history.published()
        self._history.between()
        snapshot = self._under_way.assume(found.snapshot, read, found.seen)
        return DecisionContext(self._policy, snapshot, log=self._under_way.log(read))

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._policy


def _fail(error: Exception) -> None:
    raise error


class _Binder(PodBinder):
    """The API server for bind. If an answer is lost, the Binding arrives within the grace period."""

    def __init__(self, history: AnnouncementsHistory) -> None:
        self._history = history

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        world = self._history.world
        if world.random.random() < self._history.lost:
            world.after(world.random.uniform(0.0, GRACE_SECONDS), lambda: self._history.arrived(binding))
            world.pause(min(timeout, 1.0))
            return Unanswered("timed out")
        self._history.between()
        return self._history.arrived(binding)

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        self._history.between()
        found = self._history.find(pod_name)
        self._history.between()
        return found
