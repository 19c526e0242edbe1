"""The ledger shares of a member during one call: an open reservation before the commit, the share afterwards.

The open reservation of an entry is written before the entry, so that the watcher finds the entry. So a call deletes
its reservation only if a commit can no longer give it a share.

A GET of a pod shows whether the member is alive. The node cache shows which pods to GET: a deletion is final, so a pod
that is being deleted there does not need a GET. A pod's absence from the cache does not prove that the pod is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto

from berth.bind.share import NO_LEDGER, Request, Reservation
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.gangs.item import GangItem, GangState, Intent
from berth.ledger.nodes.entry import OpenReservation
from berth.ledger.nodes.ledger import ShareChoice
from berth.ledger.nodes.table import LedgerTable
from berth.pods import Binding, FoundPod, PodBinder, Refused, Unanswered
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.gangs.gang import Gang
from berth.scheduling.gangs.members import lives
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.managed_resources.pools import Shares
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey


@dataclass(frozen=True, slots=True)
class GangOfPod:
    """A pod's gang, with its priority.

    topology: the value of the gang's topology key on the node of the Binding; empty without a key. pods: the gang's
    members in the node cache, by UID, without exempt pods. domains: the values of the key on their nodes.
    """

    gang: Gang
    topology: str = ""
    pods: Mapping[str, Pod] = field(default_factory=dict)
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GangMember:
    """A pod of a gang that is being bound. binder: reads whether other members are alive.

    announce: makes the pod visible to rules about other pods. The barrier calls it when the gang is open, before the
    member joins; a BindResult stops the member from joining. withdraw: called before the member waits for another gang.
    """

    of: GangOfPod
    binding: Binding
    request: Request
    counting: Counting
    binder: PodBinder
    deadline: Deadline
    announce: Callable[[], BindResult | None]
    withdraw: Callable[[], None]


@dataclass(frozen=True, slots=True)
class GangPlace:
    """A member's place in its committed gang. reservation: its share; None without counted resources."""

    reservation: Reservation | None


class MemberShare:
    """Reserves a call's share. Methods raise TableUnavailable, or DeadlineExceeded if a request might end too late."""

    def __init__(
        self,
        ledger: LedgerTable,
        member: GangMember,
        attempt: str,
        has_time: Callable[[], bool],
        wall: Callable[[], float],
    ) -> None:
        """Prepare the share. has_time: returns whether a request may start. wall: returns the seconds since the
        epoch."""
        self._ledger, self._member, self._attempt = ledger, member, attempt
        self._has_time, self._wall = has_time, wall
        binding = member.binding
        self._pod, self._node = PodKey(binding.namespace, binding.pod_name, binding.pod_uid), binding.node
        self._open: Shares = {}
        """The shares of the open reservation."""
        self._is_new = True
        """Whether no earlier call of the member has a share."""

    def intent(self, until: float) -> Intent:
        """Return the intent of this call; other calls ignore it after `until`, in seconds since the epoch."""
        member = self._member
        request, topology = member.request, member.of.topology
        return Intent(self._pod, self._node, self._attempt, until, request.demands, request.floating, topology=topology)

    def reserve(self) -> BindResult | None:
        """Write an open reservation if the member requests counted resources. BindResult: a ledger is missing or being
        rebuilt, or has too little left."""
        if not self._member.request.demands:
            return None
        request, chosen = self._member.request, dict[str, int]()
        choice = ShareChoice(self._member.counting, request.demands, request.floating, self._pod.uid)
        for owner in self.intent(0.0).owners:
            self._check_time()
            ledger = self._ledger.node(owner)
            if ledger is None or ledger.avail is None:
                return NO_LEDGER
            share = choice.at(ledger)
            if isinstance(share, Insufficient):
                return BindResult(BindOutcome.INSUFFICIENT, share.text)
            chosen |= share
            self._is_new = self._is_new and self._pod.uid not in ledger.entries
        self._put_open(chosen)
        self._open = chosen
        return None

    def committed(self, shares: Shares) -> GangPlace:
        """Return the member's place, for its Binding. shares: the member's shares in the commit."""
        member = self._member
        if not member.request.demands:
            return GangPlace(None)
        if shares != self._open:
            # The commit chose another device.
            self._put_open(shares)
        annotations = member.counting.annotations(shares)
        # The entry of an earlier call was taken over with all its shares.
        return GangPlace(
            Reservation(
                member.binding,
                self._attempt,
                annotations,
                is_first_attempt=self._is_new,
                shares=shares,
                has_surplus=not self._is_new,
            )
        )

    def is_held(self) -> bool:
        for owner in self.intent(0.0).owners:
            self._check_time()
            ledger = self._ledger.node(owner)
            entry = None if ledger is None else ledger.entries.get(self._pod.uid)
            if entry is not None and entry.attempt == self._attempt:
                return True
        return False

    def give_up(self) -> None:
        """Delete the open reservation. It expires if the table does not answer or no time is left."""
        if self._member.request.demands and self._has_time():
            with suppress(TableUnavailable):
                self._ledger.delete_open(self._pod.uid, self._node, self._attempt)

    def _put_open(self, shares: Shares) -> None:
        self._check_time()
        self._ledger.put_open(OpenReservation(self._pod, self._node, self._attempt, shares, self._wall()))

    def _check_time(self) -> None:
        if not self._has_time():
            raise DeadlineExceeded


MAX_GETS = 8
"""Maximum number of GETs in one check of members. All members of a recreated gang GET pods: up to n² without a limit.
If more are needed, the member is rejected until the watcher deletes the item of a gang without living members."""

NOT_FOUND = 404

Get = Callable[[str], FoundPod | Refused | Unanswered]
"""Returns the pod of this name in the gang's namespace."""


class MemberLiveness(Enum):
    """Whether members are alive. UNKNOWN: the API server did not answer, or too many pods need a GET."""

    LIVES = auto()
    NONE_LIVES = auto()
    UNKNOWN = auto()


def liveness_for(member: GangMember, item: GangItem | None) -> MemberLiveness:
    """Return the liveness of the member's gang. If the commit's item is gone, members on nodes prove the commit."""

    return liveness_of(member.binding.pod_uid, _committed(item), member.of.pods, get_for(member))


def get_for(member: GangMember) -> Get:
    """Return a function that GETs a pod in at most half of the call's remaining time."""

    def get(name: str) -> FoundPod | Refused | Unanswered:
        return member.binder.pod(member.of.gang.key.namespace, name, member.deadline.remaining() / 2)

    return get


def is_in_domain(member: GangMember, item: GangItem | None) -> bool:
    """Return whether the node is in the topology domain of the member's committed gang; True without a key."""
    topologies = {intent.topology for intent in _committed(item)} | member.of.domains
    return not member.of.gang.topology_key or member.of.topology in topologies


def _committed(item: GangItem | None) -> Collection[Intent]:
    return item.intents.values() if item is not None and item.state is GangState.COMMITTED else ()


def liveness_of(uid: str, committed: Iterable[Intent], pods: Mapping[str, Pod], get: Get) -> MemberLiveness:
    """Return a gang's liveness. uid: the UID of the pod that is being bound, which is alive. committed: the commit's
    members. pods: the gang's pods in the node cache, by UID."""
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
    """Count the members that wait in bind but are gone or terminating. pods: the pods in the node cache, by UID.

    Members that are missing from the cache are read with GET, as the cache may be behind. If too many are missing, or
    the API server does not answer, the missing members do not count as lost.
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
    """Return whether this pod is alive, or None if the API server did not answer."""
    match answer:
        case FoundPod() as found:
            return found.uid == uid and not found.deleting and not found.finished
        case Refused(status=status) if status == NOT_FOUND:
            return False
        case Refused() | Unanswered():
            return None


def _to_ask(intents: Mapping[str, str], pods: Mapping[str, Pod]) -> Iterator[tuple[str, str]]:
    """Yield names and UIDs: first of pods on nodes, then of unbound members in the cache, then of members not in it."""
    living = [pod for pod in pods.values() if lives(pod)]
    yield from ((pod.name, pod.uid) for pod in living if pod.node_name)
    yield from ((pod.name, pod.uid) for pod in living if pod.uid in intents and not pod.node_name)
    yield from ((name, uid) for uid, name in intents.items() if uid not in pods)
