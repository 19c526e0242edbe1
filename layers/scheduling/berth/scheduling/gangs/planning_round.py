"""The plans of all gangs on one state, in as many calls as they need.

Whoever creates pods decides how many gangs there are, and how much work each one is. A call ends at its deadline, and
the next one on this state goes on where it ended: the work is none of the pod that a call asks about. A gang that has
half of the time of a decision, or more, and does not come to its end, is not planned for a while (`TimeLimited`).
"""

from __future__ import annotations

from collections.abc import Sequence

from berth.scheduling.evaluation.time_limit import (
    NO_DECISION_DEADLINE,
    DeadlineExceeded,
    DecisionDeadline,
    TimeLimited,
)
from berth.scheduling.gangs.gang import GangWait
from berth.scheduling.gangs.members import GangMembers
from berth.scheduling.gangs.planned_nodes import CandidatesByShape
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.gangs.plans import GangOutcome, Plans

REASON_UNFINISHED = "gang waits: to plan all gangs takes longer than this call"


class PlanningRound:
    """For one thread at a time. When it is finished, threads may share its plans."""

    def __init__(
        self, gangs: Sequence[GangMembers], plans: Plans, candidates: CandidatesByShape, began_at: float
    ) -> None:
        """gangs: in the order in which they are planned. plans: none is made yet. began_at: seconds since the epoch."""
        self.began_at = began_at
        self._gangs, self._plans, self._candidates = gangs, plans, candidates
        self._planned, self._extended = 0, 0
        self._is_finished = False
        self.is_slow = False
        """Whether it takes more than one call, though that had time."""

    def finished(self, limited: TimeLimited, call: DecisionDeadline) -> Plans:
        """The plans of all gangs. Raises DeadlineExceeded; then the next call goes on."""
        if not self._is_finished:
            seconds_left = call.remaining()
            try:
                self._go_on(limited, call)
            except DeadlineExceeded as error:
                self.is_slow |= limited.is_enough(seconds_left)
                raise DeadlineExceeded(REASON_UNFINISHED) from error
            self._candidates.deadline = NO_DECISION_DEADLINE
            self._is_finished = True
        return self._plans

    def _go_on(self, limited: TimeLimited, call: DecisionDeadline) -> None:
        for members in self._gangs[self._planned :]:
            self._plan(members, limited, call)
            self._planned += 1
        for members in self._gangs[self._extended :]:
            self._place_extra(members, limited, call)
            self._extended += 1

    def _plan(self, members: GangMembers, limited: TimeLimited, call: DecisionDeadline) -> None:
        def plan(deadline: DecisionDeadline) -> tuple[GangOutcome]:
            self._candidates.deadline = deadline
            return (self._plans.plan(members),)

        kind = f"plan of {members.gang.minimum} of {members.key}"
        planned = limited.run(kind, members.waiting[0], plan, call.remaining())
        self._plans.members[members.key] = members
        self._plans.outcomes[members.key] = GangWait.TOO_COSTLY if planned is None else planned[0]

    def _place_extra(self, members: GangMembers, limited: TimeLimited, call: DecisionDeadline) -> None:
        """Where it takes too long, members beyond the minimum have no place."""
        outcome = self._plans.outcomes[members.key]
        if not isinstance(outcome, GangPlan) or len(members.waiting) == len(outcome.places):
            return

        def place(deadline: DecisionDeadline) -> None:
            self._candidates.deadline = deadline
            self._plans.place_extra(outcome, members)

        limited.run(
            f"members beyond {members.gang.minimum} of {members.key}", members.waiting[0], place, call.remaining()
        )
