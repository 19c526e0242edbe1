"""The decisions of a recording, made again on the recorded states.

A call decides on the version that it read, or on a later one. So a decision that differs on its version is tried on the
later ones that were published by then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from berth.cluster.field_projection import RequiredFields
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.input_files import InvalidInput
from berth_cli.recording.digest import digest_of_scores, digest_of_verdicts
from berth_cli.recording.format import (
    MOST_VERSIONS,
    AppliedPolicy,
    DecisionLine,
    Header,
    Line,
    State,
    Truncated,
    UnrecordedDecisions,
)
from berth_cli.recording.missing_fields import missing_fields
from berth_cli.recording.pods import PodsOfDecisions, assumed_pod, open_gangs


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision with the state that it is made on. later: that of the versions after it, which may be the true one."""

    line: DecisionLine
    pod: Pod
    policy: Policy
    snapshot: Snapshot
    later: Callable[[], Iterator[Snapshot]]
    open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS


@dataclass(slots=True)
class RecordingSummary:
    """What a recording lacks. is_truncated: its end. dropped: decisions that were not recorded. without_state: those
    that cannot be made again: it lacks their state or their policy."""

    notes_of_header: tuple[str, ...] = ()
    begins: float = 0.0
    ends: float = 0.0
    is_truncated: bool = False
    dropped: int = 0
    without_state: int = 0

    @property
    def notes(self) -> list[str]:
        """For the reader of a report."""
        found = [*self.notes_of_header]
        if self.is_truncated:
            found.append("the recording ends in the middle: its process was killed; what is there was replayed")
        if self.dropped:
            found.append(f"{_were(self.dropped)} not recorded: the state was not known, or the disk too slow")
        if self.without_state:
            found.append(f"{_were(self.without_state)} not made again: the recording lacks the state")
        return found


def _were(decisions: int) -> str:
    return "1 decision was" if decisions == 1 else f"{decisions} decisions were"


class RecordedDecisions:
    """The decisions of a recording in their order. summary: complete when they have been read."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.summary = RecordingSummary()
        self.last_snapshot = Snapshot.of(())
        self._lines = lines
        self._view = SnapshotView()
        self._states: OrderedDict[int, CachedCluster] = OrderedDict()
        self._policies: dict[str, Policy] = {}
        self._has_all_fields = False
        self._pods = PodsOfDecisions()
        self.configuration = BerthConfiguration()

    def __iter__(self) -> Iterator[RecordedDecision]:
        """Raises InvalidInput, also for a recording of which no decision can be made again."""
        is_useless = True
        for line in self._lines:
            match line:
                case Header():
                    self.summary.begins = self.summary.ends = line.time
                    self.summary.notes_of_header = line.notes
                    self._has_all_fields = line.has_all_fields
                case State():
                    self._apply(line)
                case AppliedPolicy():
                    self._policies[line.hash] = self._policy(line)
                case UnrecordedDecisions():
                    self.summary.dropped += line.decisions
                case Truncated():
                    self.summary.is_truncated = True
                case DecisionLine():
                    self.summary.ends = line.time
                    decision = self._decision(line)
                    if decision is None:
                        self.summary.without_state += 1
                    else:
                        is_useless = False
                        yield decision
        if is_useless and self.summary.without_state:
            raise InvalidInput("the recording lacks the states of all its decisions: record again")

    def missing_fields(self, policy: Policy) -> Sequence[str]:
        """What this policy reads and the states of some recorded policy lack. After the decisions have been read."""
        if self._has_all_fields:
            return ()
        kept = [RequiredFields.of(each) for each in self._policies.values()]
        return tuple(dict.fromkeys(text for each in kept for text in missing_fields(policy, each)))

    def _apply(self, line: State) -> None:
        before = next(reversed(self._states.values()), None)
        state = self._view.empty() if before is None or line.is_whole else before
        if line.is_whole:
            self._states.clear()
        self._states[line.version] = after = self._view.applied(state, line.changes)
        self.last_snapshot = after.snapshot
        while len(self._states) > MOST_VERSIONS:
            self._states.popitem(last=False)

    def _policy(self, line: AppliedPolicy) -> Policy:
        try:
            self.configuration = BerthConfiguration.model_validate(line.document)
            return self.configuration.policy()
        except (ValidationError, ImportError) as error:
            raise InvalidInput(
                f"the recorded configuration cannot be used here: {error}; give --plugins for plugins of your own"
            ) from error

    def _decision(self, line: DecisionLine) -> RecordedDecision | None:
        state, policy = self._states.get(line.version), self._policies.get(line.configuration_hash)
        if state is None or policy is None:
            return None
        try:
            pod, assumed = self._pods.read(line.pod), [assumed_pod(each) for each in line.assumed]
        except ValueError as error:
            raise InvalidInput(f"a pod of the recording cannot be read: {error}") from error

        def later() -> Iterator[Snapshot]:
            for version, found in [*self._states.items()]:
                if version > line.version:
                    yield found.snapshot.assuming(assumed)

        gangs = open_gangs(line.open_gangs)
        return RecordedDecision(line, pod, policy, state.snapshot.assuming(assumed), later, gangs)


@dataclass(frozen=True, slots=True)
class Difference:
    """A decision that is not the recorded one."""

    line: DecisionLine
    pod: Pod


@dataclass(slots=True)
class ReplayResult:
    """decisions: how many were made again. later: of these, those that are the same on a later state than the one that
    they name. differing, first: those that are not the same, and the first of them. pods: by UID."""

    decisions: int = 0
    later: int = 0
    differing: int = 0
    first: list[Difference] = field(default_factory=list)
    pods: set[str] = field(default_factory=set)


MOST_DIFFERENCES = 20


def replay(decisions: Iterable[RecordedDecision]) -> ReplayResult:
    """Make all decisions again by the recorded policies. Raises InvalidInput."""
    found = ReplayResult()
    for each in decisions:
        found.decisions += 1
        found.pods.add(each.pod.uid)
        if _digest(each, each.snapshot) == each.line.digest:
            continue
        if any(_digest(each, snapshot) == each.line.digest for snapshot in each.later()):
            found.later += 1
            continue
        found.differing += 1
        if len(found.first) < MOST_DIFFERENCES:
            found.first.append(Difference(each.line, each.pod))
    return found


def _digest(decision: RecordedDecision, snapshot: Snapshot) -> str:
    line, policy, pod, gangs = decision.line, decision.policy, decision.pod, decision.open_gangs
    nodes = NodeRefs.of(list(line.nodes), snapshot.nodes.positions)
    match line.verb:
        case "filter":
            return digest_of_verdicts(policy.feasibility(pod, nodes, snapshot, open_gangs=gangs).verdicts)
        case "filter_onlyone":
            best = policy.best(pod, nodes, snapshot, open_gangs=gangs)
            return digest_of_verdicts(best.verdicts, best.chosen)
        case _:
            return digest_of_scores(policy.scores(pod, nodes, snapshot))
