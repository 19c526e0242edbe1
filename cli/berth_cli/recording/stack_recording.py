"""A recording of a stack: its node cache is followed while the recording runs, and the records of its decisions are
read from the table at the end.

The records are kept by pod, so those of each pod are asked for that waited or changed meanwhile. States and changes
stay in memory until then. A record is written where its state is known: a call may decide on a later version than the
one that it read, so the checksum of its nodes says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, Field, ValidationError

from berth.configuration.store import ConfigurationInvalid
from berth.decisions.dynamodb_table import StoredDecision
from berth.decisions.repeatable import FIRST_STATUS, NOT_ASKED, PASSES, RepeatableDecision, checksum_of, decoded
from berth.dynamodb_errors import TableUnavailable
from berth.extender.outcomes import FilterOutcome
from berth.nodecache.feed.table import CacheTable
from berth.scheduling.configuration.decisions import Decisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects.projection import is_placed
from berth_cli.recording.digest import EXEMPT, digest_of_rejections, digest_of_scores, rejection_text
from berth_cli.recording.format import (
    AppliedPolicy,
    DecisionLine,
    RecordingWriter,
    State,
    assumed_lines,
    open_gang_lines,
)
from berth_cli.recording.state_log import StateLog

NOTES = (
    "recorded from a stack: at most 10 decisions a second of each verb and environment that left the pod a node, and "
    "10 that did not",
    "recorded from a stack: the last decisions of an environment may be missing, and those about pods that came and "
    "went between two publications",
)

MOST_VERSIONS_LATER = 8
"""A call that read one version decides on it, or on one of the next ones."""

Name = tuple[str, str]
"""Namespace and name of a pod."""

ReadDecisions = Callable[[str, str], Iterable[StoredDecision]]
"""The records of a pod since the recording began. Raises TableUnavailable."""


class _Record(BaseModel):
    time: float
    verb: str
    outcome: str
    configuration_hash: str = Field(alias="configurationHash")
    version: int = Field(alias="cacheVersion")
    chosen: str | None = None


@dataclass(slots=True)
class _Nodes:
    """The nodes of a state, in order."""

    ordered: Sequence[str]
    checksum: str


@dataclass(frozen=True, slots=True)
class RecordingCounts:
    """How many decisions a recording has, and how many records could not be used."""

    decisions: int
    missing: int


def keeps_no_decisions(where: str, configuration: BerthConfiguration) -> str:
    """Why there is nothing to read. where: how the stack is called in messages."""
    kept_in = configuration.decisions or Decisions.LOG
    return f"{where} keeps no decisions in its table: decisions is {kept_in}; apply decisions: table"


@dataclass(slots=True)
class StackRecording:
    """For one thread."""

    table: CacheTable
    states: list[State] = field(default_factory=list)
    _log: StateLog = field(init=False)

    def __post_init__(self) -> None:
        self._log = StateLog(self.table, self.states.append)

    def follow(self) -> None:
        """Read what was published since the last time. Call it every few seconds: the log of a stack is short."""
        self._log.follow()

    def write(
        self, writer: RecordingWriter, decisions_of: ReadDecisions, document_of: Callable[[str], BerthConfiguration]
    ) -> RecordingCounts:
        """Read the decisions and write everything. document_of: the configuration by its hash; it raises
        ConfigurationInvalid and TableUnavailable. Raises TableUnavailable."""
        stored = [
            each
            for namespace, name in sorted(self._pods())
            for each in decisions_of(namespace, name)
            if each.repeatable is not None  # others are of preempt, bind and calls that failed
        ]
        records = [(record, each) for each in stored if (record := _record(each)) is not None]
        known = self._write_policies(writer, {record.configuration_hash for record, _ in records}, document_of)
        index, placed = _StateIndex(self.states), dict[int, list[DecisionLine]]()
        for record, each in records:
            found = _line(record, each, index, writer.name_of) if record.configuration_hash in known else None
            if found is not None:
                line, at = found
                placed.setdefault(at, []).append(line)
        decisions = sum(map(len, placed.values()))
        for number, state in enumerate(self.states):
            writer.state(state)
            for line in sorted(placed.get(number, ()), key=lambda line: line.time):
                writer.decision(line)
        missing = len(stored) - decisions
        if missing:
            writer.dropped(missing)
        return RecordingCounts(decisions, missing)

    def _write_policies(
        self, writer: RecordingWriter, hashes: Iterable[str], document_of: Callable[[str], BerthConfiguration]
    ) -> set[str]:
        """The hashes of those that are known. They come before the states: the names in them stay in clear."""
        known = set[str]()
        for applied in sorted(hashes):
            try:
                document = document_of(applied)
            except (ConfigurationInvalid, ValidationError, TableUnavailable):
                continue
            writer.policy(AppliedPolicy(applied, document.model_dump(mode="json", by_alias=True)))
            known.add(applied)
        return known

    def _pods(self) -> set[Name]:
        """Those that waited, came, changed or went."""
        found = set[Name]()
        for number, state in enumerate(self.states):
            for resource, key, obj in state.changes:
                if resource == "pods" and (number or obj is None or not is_placed(dict(obj))):
                    namespace, _, name = key.partition("/")
                    found.add((namespace, name))
        return found


class _StateIndex:
    """Which nodes each state has. Whole states divide the log: a decision belongs before the next one."""

    def __init__(self, states: Sequence[State]) -> None:
        self._numbers = {state.version: number for number, state in enumerate(states)}
        self._nodes = list(_nodes_of(states))
        wholes = [number for number, state in enumerate(states) if state.is_whole]
        self._ends = [
            min((each for each in wholes if each > number), default=len(states)) for number in range(len(states))
        ]
        self._states = states

    def state_of(self, version: int, checksum: str) -> tuple[int, int, Sequence[str]] | None:
        """The version that a call decided on, the number of the state after which the decision is written, and the
        nodes in order; None where no state is the one."""
        first = self._numbers.get(version)
        if first is None:
            return None
        end = min(self._ends[first], first + MOST_VERSIONS_LATER)
        for number in range(first, end):
            if self._nodes[number].checksum == checksum:
                return self._states[number].version, end - 1, self._nodes[number].ordered
        return None


def _nodes_of(states: Iterable[State]) -> Iterator[_Nodes]:
    names: set[str] = set()
    last: _Nodes | None = None
    for state in states:
        before = None if state.is_whole or last is None else set(names)
        if state.is_whole:
            names = set()
        for resource, key, obj in state.changes:
            if resource == "nodes":
                names.discard(key) if obj is None else names.add(key)
        if last is None or names != before:
            ordered = sorted(names)
            last = _Nodes(ordered, checksum_of(ordered))
        yield last


def _record(stored: StoredDecision) -> _Record | None:
    """None for one that cannot be made again."""
    try:
        found = _Record.model_validate(stored.record)
    except ValidationError:
        return None
    return None if found.outcome == FilterOutcome.TOO_COSTLY else found


def _line(
    record: _Record, stored: StoredDecision, index: _StateIndex, name_of: Callable[[str], str]
) -> tuple[DecisionLine, int] | None:
    """The line, and the number of the state after which it is written."""
    try:
        repeatable = decoded(stored.repeatable or b"")
    except (ValueError, KeyError):
        return None
    if repeatable is None:
        return None
    found = index.state_of(record.version, repeatable.checksum)
    if found is None:
        return None
    version, at, ordered = found
    names = [*ordered, *repeatable.unknown]
    if len(names) != len(repeatable.values):
        return None
    asked = [number for number, value in enumerate(repeatable.values) if value != NOT_ASKED]
    line = DecisionLine(
        record.time,
        record.verb,
        record.outcome,
        version,
        record.configuration_hash,
        repeatable.pod,
        [names[number] for number in asked],
        assumed_lines(repeatable.assumed),
        _digest(record, repeatable, [repeatable.values[number] for number in asked], name_of),
        open_gang_lines(repeatable.open_gangs),
    )
    return line, at


def _digest(
    record: _Record, repeatable: RepeatableDecision, values: Sequence[int], name_of: Callable[[str], str]
) -> str:
    if record.verb == "prioritize":
        return digest_of_scores([value - PASSES for value in values])
    if record.outcome == FilterOutcome.EXEMPT:
        return EXEMPT
    texts = [rejection_text(*each) for each in repeatable.statuses]
    rejected = [texts[value - FIRST_STATUS] for value in values if value != PASSES]
    return digest_of_rejections(bytes(value == PASSES for value in values), rejected, name_of(record.chosen or ""))
