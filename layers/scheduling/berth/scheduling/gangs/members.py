"""The gangs of a cluster: their members that wait, their members on nodes, and the order in which they are planned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from berth.scheduling.gangs.gang import Gang, GangError, GangKey, GangsConfiguration, OpenGang, gang_of
from berth.scheduling.objects.pod import Pod
from berth.scheduling.snapshot.snapshot import Snapshot

NO_MEMBERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class GangMembers:
    """A gang with its members.

    waiting: without a node, in the order of their names; of a committed gang those that are not being bound. open: the
    gang as it is being bound, if it is. is_committed: see there; the members that wait are then placed alone. error:
    what is wrong between members.
    """

    gang: Gang
    waiting: tuple[Pod, ...]
    open: OpenGang | None = None
    is_committed: bool = False
    error: GangError | None = None

    @property
    def key(self) -> GangKey:
        """Of the gang."""
        return self.gang.key

    @property
    def priority(self) -> int:
        """Of the PodGroup; without one, the highest of the members."""
        if self.gang.priority is not None:
            return self.gang.priority
        return max((pod.priority or 0 for pod in self.waiting), default=0)

    @property
    def created_at(self) -> float:
        """When the PodGroup was created; without one, the oldest member."""
        if self.gang.created_at is not None:
            return self.gang.created_at
        return min((inf if pod.created_at is None else pod.created_at for pod in self.waiting), default=inf)

    @property
    def arrived(self) -> Mapping[str, str]:
        """The nodes of the members that have arrived in bind, by UID."""
        return NO_MEMBERS if self.open is None else self.open.members

    @property
    def order(self) -> tuple[int, bool, float, GangKey]:
        """Gangs are planned by priority; of equal priority an open one first, then the oldest. So two never wait for
        each other: the later one is planned on what the earlier one leaves."""
        return -self.priority, self.open is None, self.created_at, self.key


def gangs_in(
    snapshot: Snapshot, configuration: GangsConfiguration, open_gangs: Sequence[OpenGang], unknown: Pod | None = None
) -> list[GangMembers]:
    """All gangs with a member that waits, in the order in which they are planned.

    unknown: a member that the snapshot does not have yet.
    """
    opened = {each.key: each for each in open_gangs}
    being_bound = {pod.uid for pods in snapshot.assumed.values() for pod in pods}
    found = []
    for pods in snapshot.pods_by_gang.values():
        members = _members([*pods.values()], snapshot, configuration, opened, being_bound, unknown)
        if members is not None:
            found.append(members)
    if unknown is not None and not any(unknown in each.waiting for each in found):
        members = _members([unknown], snapshot, configuration, opened, being_bound, None)
        if members is not None:
            found.append(members)
    return sorted(found, key=lambda each: each.order)


def is_committed(
    key: GangKey, snapshot: Snapshot, open_gangs: Iterable[OpenGang] = (), asked: Pod | None = None
) -> bool:
    """Whether a member of this gang is on a node, or is getting its Binding.

    No member gets one before the gang is committed, so a member on a node is the proof. A commit is one only while one
    of its own members lives: another gang may have the name by now. An open reservation or an announcement is no proof:
    bind writes them before the member waits for the others. asked: a member that the snapshot may not have.
    """
    pods = [*snapshot.pods_by_gang.get((key.namespace, key.name), {}).values(), *((asked,) if asked else ())]
    open_gang = next((each for each in open_gangs if each.key == key), None)
    return _is_committed([pod for pod in pods if not pod.terminating], open_gang)


def _is_committed(living: Sequence[Pod], open_gang: OpenGang | None) -> bool:
    if any(pod.node_name for pod in living):
        return True
    return open_gang is not None and open_gang.is_committed and any(pod.uid in open_gang.members for pod in living)


def domains_of(
    gang: Gang, snapshot: Snapshot, open_gangs: Iterable[OpenGang] = (), *, pods: Iterable[Pod] | None = None
) -> frozenset[str]:
    """The values of the gang's topology key on the nodes of its committed members: one value, unless members were bound
    before the gang had the key. pods: its members; None: all that name it."""
    if pods is None:
        pods = snapshot.pods_by_gang.get((gang.key.namespace, gang.key.name), {}).values()
    names = {pod.node_name for pod in pods if pod.node_name and not pod.terminating}
    for each in open_gangs:
        if each.key == gang.key and each.is_committed:
            names.update(each.members.values())
    nodes = [snapshot.nodes[name] for name in names if name in snapshot.nodes]
    return frozenset(value for node in nodes if (value := node.labels.get(gang.topology_key)))


def waits(pod: Pod) -> bool:
    """Whether a member has no node, and may get one."""
    return not (pod.node_name or pod.spec.gated or pod.terminating)


def order_of_members(pod: Pod) -> tuple[int, str, str]:
    """By the length of the name first: train-2 goes before train-10."""
    return len(pod.name), pod.name, pod.uid


def members_on_nodes(key: GangKey, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The name and the UID of each member on a node, without those that are being deleted."""
    for pod in snapshot.pods_by_gang.get((key.namespace, key.name), {}).values():
        if pod.node_name and not pod.terminating:
            yield pod.name, pod.uid


def _members(
    pods: Sequence[Pod],
    snapshot: Snapshot,
    configuration: GangsConfiguration,
    opened: Mapping[GangKey, OpenGang],
    being_bound: set[str],
    unknown: Pod | None,
) -> GangMembers | None:
    """None where no member of a valid gang waits. The pods name gangs of one name."""
    known = [(pod, gang) for pod in pods if isinstance(gang := gang_of(pod, snapshot.pod_groups, configuration), Gang)]
    known = [(pod, gang) for pod, gang in known if not pod.terminating]
    if not known:
        return None
    key = known[0][1].key
    gang = None if unknown is None else gang_of(unknown, snapshot.pod_groups, configuration)
    if unknown is not None and isinstance(gang, Gang) and gang.key == key:
        known.append((unknown, gang))
    open_gang = opened.get(key)
    committed = _is_committed([pod for pod, _ in known], open_gang)
    if open_gang is not None and open_gang.is_committed and not committed:
        open_gang = None
    gangs: list[Gang] = []
    waiting: list[Pod] = []
    for pod, gang in known:
        if pod is unknown or (waits(pod) and not (committed and pod.uid in being_bound)):
            gangs.append(gang)
            waiting.append(pod)
    if not waiting:
        return None
    waiting.sort(key=order_of_members)
    return GangMembers(gangs[0], tuple(waiting), open_gang, committed, _difference(gangs, waiting))


def _difference(gangs: Sequence[Gang], pods: Sequence[Pod]) -> GangError | None:
    """What members say differently of their gang."""
    if len({gang.minimum for gang in gangs}) > 1:
        return GangError.SIZES_DIFFER
    if len({gang.topology_key for gang in gangs}) > 1:
        return GangError.TOPOLOGY_KEYS_DIFFER
    if len({pod.scheduler_name for pod in pods}) > 1:
        # Each scheduler would wait for the members of the other one, and in bind the open gang keeps others waiting.
        return GangError.SCHEDULERS_DIFFER
    return None
