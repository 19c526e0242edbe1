"""Reads the decisions of a recording, with their states.

A call decides on the version that it read, or on a later version that was published meanwhile. So a decision that
differs on its version is tried on the later versions that were recorded before it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from berth.cluster.field_projection import RequiredFields
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import AssumedPod
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.recording.format import (
    MAX_VERSIONS,
    AppliedPolicy,
    DecisionLine,
    Document,
    Gap,
    Header,
    Line,
    State,
    digest,
    digest_of_verdicts,
)
from berth_cli.sources.cached_objects import missing_fields
from berth_cli.terminal.input_files import InvalidInput


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision with its request and the configuration that made it. states: the states of its version and of
    later versions, because the decision may have used any of them."""

    line: DecisionLine
    pod: Pod
    nodes: Sequence[str]
    configuration: BerthConfiguration
    states: Sequence[Snapshot]
    assumed: Sequence[AssumedPod]

    def repeated(self, policy: Policy) -> Snapshot | None:
        """Return the state on which this policy makes the recorded decision; None if there is no such state."""
        states = (state.assuming(self.assumed) for state in self.states)
        return next((state for state in states if self._digest(policy, state) == self.line.digest), None)

    @property
    def snapshot(self) -> Snapshot:
        """The state that the decision names."""
        return self.states[0].assuming(self.assumed)

    def _digest(self, policy: Policy, state: Snapshot) -> str:
        nodes, gangs = NodeRefs.of(list(self.nodes), state.positions), self.line.open_gangs
        match self.line.verb:
            case "filter":
                return digest_of_verdicts(policy.feasibility(self.pod, nodes, state, open_gangs=gangs).verdicts)
            case "filter_onlyone":
                best = policy.best(self.pod, nodes, state, open_gangs=gangs)
                return digest_of_verdicts(best.verdicts, best.chosen)
            case _:
                return digest(*policy.scores(self.pod, nodes, state))


class RecordedDecisions:
    """Yields the decisions of a recording, in order. Its attributes are complete only after all decisions are read."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = lines
        self._view = SnapshotView()
        self._states: OrderedDict[int, CachedCluster] = OrderedDict()
        self._configurations: dict[str, BerthConfiguration] = {}
        self._names: list[str] = []
        self._has_all_fields = self._is_truncated = False
        self._dropped = self.without_state = 0
        self.last_snapshot = Snapshot.of(())

    def __iter__(self) -> Iterator[RecordedDecision]:
        """Yield the decisions. Raises InvalidInput, also if no decision has a recorded state."""
        is_useless = True
        for line in self._lines:
            match line:
                case Header():
                    self._has_all_fields = line.has_all_fields
                case State():
                    self._apply(line)
                case AppliedPolicy():
                    self._configurations[line.hash] = _configuration(line)
                case Gap():
                    self._dropped += line.decisions or 0
                    self._is_truncated |= line.decisions is None
                case DecisionLine():
                    self._names += line.new_names
                    if line.version in self._states and line.configuration_hash in self._configurations:
                        is_useless = False
                        yield self._decision(line)
                    else:
                        self.without_state += 1
        if is_useless and self.without_state:
            raise InvalidInput("the recording lacks the states of all its decisions: record again")

    @property
    def notes(self) -> Iterator[str]:
        """Notes about missing parts of the recording."""
        if self._is_truncated:
            yield "the recording ends in the middle: its process was killed; what is there was replayed"
        if self._dropped:
            yield f"{_were(self._dropped)} not recorded: the state was not known, or the disk too slow"
        if self.without_state:
            yield f"{_were(self.without_state)} not made again: the recording lacks the state"

    def missing_fields(self, policy: Policy) -> Iterator[str]:
        """Yield the fields that this policy reads and the states lack."""
        for each in () if self._has_all_fields else self._configurations.values():
            yield from missing_fields(policy, RequiredFields.of(each.policy()))

    def _apply(self, line: State) -> None:
        before = self._view.empty() if line.is_whole else self._states[next(reversed(self._states))]
        if line.is_whole:
            self._states.clear()
        self._states[line.version] = after = self._view.applied(before, line.changes)
        self.last_snapshot = after.snapshot
        while len(self._states) > MAX_VERSIONS:
            self._states.popitem(last=False)

    def _decision(self, line: DecisionLine) -> RecordedDecision:
        states = [state.snapshot for version, state in self._states.items() if version >= line.version]
        assumed = [AssumedPod(*row[:5], pod=None if row[5] is None else _pod(row[5])) for row in line.assumed]
        names = [*map(self._names.__getitem__, line.nodes)]
        return RecordedDecision(
            line, _pod(line.pod), names, self._configurations[line.configuration_hash], states, assumed
        )


def _configuration(line: AppliedPolicy) -> BerthConfiguration:
    try:
        return BerthConfiguration.model_validate(line.document)
    except (ValidationError, ImportError) as error:
        raise InvalidInput(
            f"the recorded configuration cannot be used here: {error}; give --plugins for custom plugins"
        ) from error


def _pod(document: Document) -> Pod:
    found = read_pod(document)
    if isinstance(found, UnreadableObject):
        raise InvalidInput(f"a pod of the recording cannot be read: {found.cause}")
    return found


def _were(decisions: int) -> str:
    return "1 decision was" if decisions == 1 else f"{decisions} decisions were"
