"""Holds one call's part of the ledger for its member: an open reservation before the commit, the share afterwards.

Every entry has an open reservation from before it is written, by which the watcher finds it. So a call deletes its
reservation only if no commit can give it a share any more.

A GET for each pod shows whether a member lives. The node cache shows which pods to ask for, and which not: a pod that
is being deleted stays so. A pod's absence from the cache proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType

from berth.bind.share import Reservation
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.gangs.item import GangItem, GangState, Intent
from berth.ledger.nodes.entry import OpenReservation, Shares
from berth.ledger.nodes.ledger import DeviceChoice
from berth.ledger.nodes.table import LedgerTable
from berth.pods import Binding, FoundPod, PodBinder, Refused, Unanswered
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.gangs.gang import Gang
from berth.scheduling.gangs.members import lives
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey

NO_PODS: Mapping[str, Pod] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GangOfPod:
    """A pod's gang, with its priority.

    topology: the value of the gang's topology key on the node of the Binding; empty without a key. pods: its
    members as the node cache has them, by UID, without exempt pods. domains: the values of the key on their nodes.
    """

    gang: Gang
    topology: str = ""
    pods: Mapping[str, Pod] = field(default_factory=lambda: NO_PODS)
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GangMember:
    """A pod of a gang that is being bound. binder: to see whether other members live.

    announce: for rules about other pods, which see the pod from then on. The barrier calls it when the gang is the open
    one, before the member joins; a BindResult stops it from joining. withdraw: called if the gang is no longer open.
    """

    of: GangOfPod
    binding: Binding
    demands: tuple[Demand, ...]
    counting: Counting
    binder: PodBinder
    deadline: Deadline
    announce: Callable[[], BindResult | None]
    withdraw: Callable[[], None]


@dataclass(frozen=True, slots=True)
class GangPlace:
    """A member's place in its committed gang. reservation: its share; None if it requests nothing counted."""

    reservation: Reservation | None


NO_LEDGER = BindResult(BindOutcome.NO_LEDGER, "the node's ledger of counted resources is not ready")


@dataclass(frozen=True, slots=True)
class OpenShare:
    """The shares of the open reservation. is_new: no earlier call of the member has a share on the node."""

    shares: Shares
    is_new: bool


class MemberShare:
    """Hold a call's share. Methods raise TableUnavailable, and DeadlineExceeded if a request may not end in time."""

    def __init__(
        self,
        ledger: LedgerTable,
        member: GangMember,
        attempt: str,
        has_time: Callable[[], bool],
        wall: Callable[[], float],
    ) -> None:
        """has_time: whether there is time for one request. wall: seconds since the epoch."""
        self._ledger, self._member, self._attempt = ledger, member, attempt
        self._has_time, self._wall = has_time, wall
        binding = member.binding
        self._pod, self._node = PodKey(binding.namespace, binding.pod_name, binding.pod_uid), binding.node

    def intent(self, until: float) -> Intent:
        """Return the intent of this call, which the others see until `until`, in seconds since the epoch."""
        member = self._member
        return Intent(self._pod, self._node, self._attempt, until, member.demands, topology=member.of.topology)

    def reserve(self) -> OpenShare | BindResult:
        """Leave an open reservation, if the member requests counted resources. BindResult: no room, or no ledger."""
        member = self._member
        if not member.demands:
            return OpenShare({}, is_new=True)
        self._check_time()
        ledger = self._ledger.node(self._node)
        if ledger is None or ledger.avail is None:
            return NO_LEDGER
        chosen = DeviceChoice(member.counting, member.demands, self._pod.uid).on(ledger, 0)
        if isinstance(chosen, Insufficient):
            return BindResult(BindOutcome.INSUFFICIENT, chosen.text)
        found = OpenShare(dict(chosen), self._pod.uid not in ledger.entries)
        self._put_open(found.shares)
        return found

    def committed(self, shares: Shares, reserved: OpenShare) -> GangPlace:
        """Return the member's place for its Binding. shares: given by the commit. reserved: by this call."""
        member = self._member
        if not member.demands:
            return GangPlace(None)
        if shares != reserved.shares:
            # The commit chose another device.
            self._put_open(shares)
        annotations = member.counting.annotations(shares)
        # An entry of an earlier call was taken over with all that it held.
        return GangPlace(
            Reservation(
                member.binding,
                self._attempt,
                annotations,
                is_first_attempt=reserved.is_new,
                shares=shares,
                has_surplus=not reserved.is_new,
            )
        )

    def is_held(self) -> bool:
        if not self._member.demands:
            return False
        self._check_time()
        ledger = self._ledger.node(self._node)
        entry = None if ledger is None else ledger.entries.get(self._pod.uid)
        return entry is not None and entry.attempt == self._attempt

    def give_up(self) -> None:
        """Delete the open reservation. If the table does not answer, or there is no time, it expires."""
        if self._member.demands and self._has_time():
            with suppress(TableUnavailable):
                self._ledger.delete_open(self._pod.uid, self._node, self._attempt)

    def _put_open(self, shares: Shares) -> None:
        self._check_time()
        self._ledger.put_open(OpenReservation(self._pod, self._node, self._attempt, shares, self._wall()))

    def _check_time(self) -> None:
        if not self._has_time():
            raise DeadlineExceeded


MAX_GETS = 8
"""GETs of one call at most. All members of a gang that was created again ask: without a limit they make n² requests.
If more are needed, the watcher decides: it forgets a gang of which no member lives."""

NOT_FOUND = 404

Get = Callable[[str], FoundPod | Refused | Unanswered]
"""Returns the pod of this name in the gang's namespace."""


class MemberLiveness(Enum):
    """UNKNOWN: the API server did not tell, or too many pods would have to be read."""

    LIVES = auto()
    NONE_LIVES = auto()
    UNKNOWN = auto()


def liveness_for(member: GangMember, item: GangItem | None) -> MemberLiveness:
    """Return the liveness of the gang of a member that is being bound. If the item of its commit is gone, members on
    nodes prove the commit."""

    return liveness_of(member.binding.pod_uid, _committed(item), member.of.pods, get_for(member))


def get_for(member: GangMember) -> Get:
    """Return the GET of a call: it takes at most half of the time that is left."""

    def get(name: str) -> FoundPod | Refused | Unanswered:
        return member.binder.pod(member.of.gang.key.namespace, name, member.deadline.remaining() / 2)

    return get


def is_in_domain(member: GangMember, item: GangItem | None) -> bool:
    """Return whether the node is in the topology domain of the member's committed gang; True if it has no key."""
    topologies = {intent.topology for intent in _committed(item)} | member.of.domains
    return not member.of.gang.topology_key or member.of.topology in topologies


def _committed(item: GangItem | None) -> Collection[Intent]:
    return item.intents.values() if item is not None and item.state is GangState.COMMITTED else ()


def liveness_of(uid: str, committed: Iterable[Intent], pods: Mapping[str, Pod], get: Get) -> MemberLiveness:
    """Return a gang's liveness. uid: of the pod that is being bound; it lives. committed: the commit's members. pods:
    as the node cache has them, by UID."""
    intents = {intent.pod.uid: intent.pod.name for intent in committed}
    if uid in intents:
        return MemberLiveness.LIVES
    asked = list(_to_ask(intents, pods))
    for name, wanted in asked[:MAX_GETS]:
        lives_there = _lives(get(name), wanted)
        if lives_there is None:
            return MemberLiveness.UNKNOWN
        if lives_there:
            return MemberLiveness.LIVES
    return MemberLiveness.UNKNOWN if len(asked) > MAX_GETS else MemberLiveness.NONE_LIVES


def lost_of(waiting: Iterable[Intent], pods: Mapping[str, Pod], get: Get) -> int:
    """Count the members that wait in bind but are gone or end. pods: as the node cache has them now, by UID.

    The GET decides for members that the cache lacks: it may not have them yet. If too many are missing, or the API
    server does not tell of one, none of these counts as lost.
    """
    cached = [(intent, pods.get(intent.pod.uid)) for intent in waiting]
    ending = sum(pod is not None and not lives(pod) for _, pod in cached)
    unknown = [intent.pod for intent, pod in cached if pod is None]
    gone = 0
    for pod in unknown if len(unknown) <= MAX_GETS else ():
        lives_there = _lives(get(pod.name), pod.uid)
        if lives_there is None:
            return ending
        gone += not lives_there
    return ending + gone


def _lives(answer: FoundPod | Refused | Unanswered, uid: str) -> bool | None:
    """Return whether this pod lives, or None if the API server did not tell."""
    match answer:
        case FoundPod() as found:
            return found.uid == uid and not found.deleting and not found.finished
        case Refused(status=status) if status == NOT_FOUND:
            return False
        case Refused() | Unanswered():
            return None


def _to_ask(intents: Mapping[str, str], pods: Mapping[str, Pod]) -> Iterator[tuple[str, str]]:
    """Yield names and UIDs, the likeliest first: on a node, in the cache, and not there."""
    living = [pod for pod in pods.values() if lives(pod)]
    yield from ((pod.name, pod.uid) for pod in living if pod.node_name)
    yield from ((pod.name, pod.uid) for pod in living if pod.uid in intents and not pod.node_name)
    yield from ((name, uid) for uid, name in intents.items() if uid not in pods)
