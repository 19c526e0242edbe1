"""What one call of bind has in the ledger for its member: an open reservation before the commit, its share afterwards.

Every entry has an open reservation from before it is written, by which the watcher finds it. So a call deletes its
reservation only where no commit can give it a share any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType

from berth.bind.share import Reservation
from berth.dynamodb_errors import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.gangs.item import Intent
from berth.ledger.nodes.device_choice import DeviceChoice
from berth.ledger.nodes.entry import OpenReservation, Shares
from berth.ledger.nodes.table import DeadlineExceeded, LedgerTable
from berth.pods import Binding, PodBinder, PodKey
from berth.scheduling.gangs.gang import Gang
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import Pod

NO_PODS: Mapping[str, Pod] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GangOfPod:
    """A pod's gang, with its priority.

    topology: the value of the gang's topology key on the node of the Binding; empty where the gang has none. pods: its
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
    one, before the member joins; BindResult: it must not join. withdraw: when the gang is not the open one any more.
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
    """The gang is committed with this member. reservation: its share; None where it requests nothing counted."""

    reservation: Reservation | None


NO_LEDGER = BindResult(BindOutcome.NO_LEDGER, "the node's ledger of counted resources is not ready")


@dataclass(frozen=True, slots=True)
class OpenShare:
    """What the open reservation names. is_new: no earlier call of the member has a share on the node."""

    shares: Shares
    is_new: bool


class MemberShare:
    """For one call. Methods may raise TableUnavailable, and DeadlineExceeded where a request may not end in time."""

    def __init__(
        self,
        ledger: LedgerTable,
        member: GangMember,
        attempt: str,
        has_time: Callable[[], bool],
        wall: Callable[[], float],
    ) -> None:
        """has_time: for one request. wall: seconds since the epoch."""
        self._ledger, self._member, self._attempt = ledger, member, attempt
        self._has_time, self._wall = has_time, wall
        binding = member.binding
        self._pod, self._node = PodKey(binding.namespace, binding.pod_name, binding.pod_uid), binding.node

    def intent(self, until: float) -> Intent:
        """Of this call, which the others see until then: seconds since the epoch."""
        member = self._member
        return Intent(self._pod, self._node, self._attempt, until, member.demands, topology=member.of.topology)

    def reserve(self) -> OpenShare | BindResult:
        """Leave an open reservation, if the member requests counted resources. BindResult: there is no room."""
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
        """What the Binding needs. shares: given by the commit. reserved: by this call."""
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
        """Whether the ledger has an entry of this call."""
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
