"""The gangs of a cluster: their waiting members, their members on nodes, and the planning order of gangs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import inf
from operator import is_

from berth.scheduling.gangs.gang import Gang, GangError, GangKey, GangsConfiguration, OpenGang, gang_of
from berth.scheduling.objects.pod import Pod
from berth.scheduling.snapshot.snapshot import Snapshot

NO_MEMBERS: Mapping[str, str] = {}

WasExempt = Callable[[Pod], bool]
"""A function that returns whether a pod is or was exempt, and so is not in a gang (see `Policy.was_exempt`)."""


@dataclass(frozen=True, slots=True)
class GangMembers:
    """A gang with its members.

    waiting: members without a node, ordered by name; in a committed gang, members that are being bound are left out.
    open: the open gang, if members have arrived in bind. is_committed: see the function `is_committed`; if True,
    waiting members are placed alone. error: a difference between members that makes the gang invalid.
    """

    gang: Gang
    waiting: tuple[Pod, ...]
    open: OpenGang | None = None
    is_committed: bool = False
    error: GangError | None = None

    @property
    def key(self) -> GangKey:
        return self.gang.key

    @property
    def arrived(self) -> Mapping[str, str]:
        """The nodes of the members that have arrived in bind, by UID."""
        return NO_MEMBERS if self.open is None else self.open.members

    @property
    def order(self) -> tuple[int, bool, float, GangKey]:
        """The sort key for planning: the highest priority first, then open gangs, then the oldest gang. So two gangs
        never wait for each other: the later gang is planned in the room that the earlier gang leaves."""
        priority, created_at = priority_of(self.gang, self.waiting), created_at_of(self.gang, self.waiting)
        return -priority, self.open is None, created_at, self.key


def members_of(key: GangKey, snapshot: Snapshot, was_exempt: WasExempt) -> dict[str, Pod]:
    """Return the members of a gang, by UID: the pods that name it, including pods that are being deleted.

    Filter, bind and commands all use this rule. An exempt pod is placed alone, so it is not a member: it does not count
    toward the minimum, and on a node it does not prove a commit.
    """
    named = snapshot.pods_by_gang.get((key.namespace, key.name), {})
    return {uid: pod for uid, pod in named.items() if not was_exempt(pod)}


def lives(pod: Pod) -> bool:
    """Return whether a member counts: it has not ended, and is not being deleted."""
    return not (pod.terminating or pod.finished)


def waits(pod: Pod) -> bool:
    """Return whether a member does not have a node yet and may get one."""
    return not (pod.node_name or pod.spec.gated) and lives(pod)


def priority_of(gang: Gang | None, waiting: Iterable[Pod]) -> int:
    """Return the PodGroup's priority, or else the highest priority of the waiting members. gang: None if invalid."""
    if gang is not None and gang.priority is not None:
        return gang.priority
    return max((pod.priority or 0 for pod in waiting), default=0)


def created_at_of(gang: Gang | None, waiting: Iterable[Pod]) -> float:
    """Return when the PodGroup or the oldest waiting member was created, in seconds since the epoch; inf if unknown."""
    if gang is not None and gang.created_at is not None:
        return gang.created_at
    return min((inf if pod.created_at is None else pod.created_at for pod in waiting), default=inf)


KnownGangs = Mapping[GangKey, tuple[Sequence[object], GangMembers | None]]
"""For each gang, the input that `gangs_in` used, and the result."""


def gangs_in(
    snapshot: Snapshot,
    configuration: GangsConfiguration,
    was_exempt: WasExempt,
    open_gangs: Sequence[OpenGang],
    unknown: Pod | None,
    known: KnownGangs,
) -> tuple[list[GangMembers], KnownGangs]:
    """Return the gangs with a waiting member, in planning order, and the value of `known` for the next call. unknown: a
    member that the snapshot does not have yet."""
    opened = {each.key: each for each in open_gangs}
    being_bound = frozenset(pod.uid for pods in snapshot.assumed.values() for pod in pods)
    gang = None if unknown is None else gang_of(unknown, snapshot.pod_groups, configuration)
    by_gang = snapshot.pods_by_gang
    keys = {GangKey(*name): None for name in by_gang}
    if isinstance(gang, Gang):
        keys[gang.key] = None
    found: dict[GangKey, tuple[Sequence[object], GangMembers | None]] = {}
    for key in keys:
        named = by_gang.get((key.namespace, key.name), {})
        asked = unknown if isinstance(gang, Gang) and gang.key == key else None
        read = *named.values(), asked, snapshot.pod_groups, opened.get(key), *sorted(being_bound.intersection(named))
        before = known.get(key)
        if before is None or len(before[0]) != len(read) or not all(map(is_, before[0], read)):
            pods = [*members_of(key, snapshot, was_exempt).values()]
            before = read, _members(pods, snapshot, configuration, opened.get(key), being_bound, asked)
        found[key] = before
    return sorted((each for _, each in found.values() if each is not None), key=lambda each: each.order), found


def is_committed(members: Iterable[Pod], open_gang: OpenGang | None) -> bool:
    """Return whether one of these members of a gang is on a node, or is getting its Binding.

    Members get their Bindings only after the commit, so a member on a node proves the commit, even if its owner changes
    the pod later. A commit counts only while one of its members lives: a later gang may have the same name. An open
    reservation or an announcement does not prove a commit: bind writes them before the member waits for the others.
    """
    living = [pod for pod in members if lives(pod)]
    if any(pod.node_name for pod in living):
        return True
    return open_gang is not None and open_gang.is_committed and any(pod.uid in open_gang.members for pod in living)


def domains_of(
    gang: Gang, members: Iterable[Pod], snapshot: Snapshot, open_gangs: Iterable[OpenGang] = ()
) -> frozenset[str]:
    """Return the values of the gang's topology key on the nodes of its committed members: at most one value, unless
    members were bound before the gang had the key."""
    names = {pod.node_name for pod in members if pod.node_name and lives(pod)}
    for each in open_gangs:
        if each.key == gang.key and each.is_committed:
            names.update(each.members.values())
    nodes = [snapshot.nodes[name] for name in names if name in snapshot.nodes]
    return frozenset(value for node in nodes if (value := node.labels.get(gang.topology_key)))


def order_of_members(pod: Pod) -> tuple[int, str, str]:
    """Return a sort key that compares the length of the name first: train-2 precedes train-10."""
    return len(pod.name), pod.name, pod.uid


def _members(
    pods: Sequence[Pod],
    snapshot: Snapshot,
    configuration: GangsConfiguration,
    open_gang: OpenGang | None,
    being_bound: Set[str],
    unknown: Pod | None,
) -> GangMembers | None:
    """Return the gang, or None if no member of a valid gang waits. unknown: a member that is not in `pods`."""
    living = [pod for pod in pods if lives(pod) and pod is not unknown]
    if unknown is not None:
        living.append(unknown)
    committed = is_committed(living, open_gang)
    if open_gang is not None and open_gang.is_committed and not committed:
        open_gang = None
    gangs: list[Gang] = []
    waiting: list[Pod] = []
    for pod in living:
        if pod is not unknown and (not waits(pod) or (committed and pod.uid in being_bound)):
            continue
        gang = gang_of(pod, snapshot.pod_groups, configuration)
        if isinstance(gang, Gang):
            gangs.append(gang)
            waiting.append(pod)
    if not waiting:
        return None
    waiting.sort(key=order_of_members)
    return GangMembers(gangs[0], tuple(waiting), open_gang, committed, _difference(gangs, waiting))


def _difference(gangs: Sequence[Gang], pods: Sequence[Pod]) -> GangError | None:
    if len({gang.minimum for gang in gangs}) > 1:
        return GangError.SIZES_DIFFER
    if len({gang.topology_key for gang in gangs}) > 1:
        return GangError.TOPOLOGY_KEYS_DIFFER
    if len({pod.scheduler_name for pod in pods}) > 1:
        # Each scheduler's members would wait in bind for the other's members, and other gangs would wait for them.
        return GangError.SCHEDULERS_DIFFER
    return None
