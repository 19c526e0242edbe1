"""The format of a recording: gzip, and in it a JSON array a line. docs/reference/recording.md describes it.

The cluster's state is a log: the published objects once, then the changes of each version. A decision names the version
that it was made on. The names of nodes are numbered when they first appear. A request has ranges of these numbers if it
has long runs of them, or else the numbers: kube-scheduler filters in several threads, which overtake each other.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import ne
from pathlib import Path
from typing import Any

import orjson

from berth.nodecache.feed.changes import Change
from berth_cli.input_files import InvalidInput

FORMAT = "berth-recording"
VERSION = 1
"""It rises when a reader of before would misread a line."""

COMPRESSION = 4
"""Level 6 takes five times as long and saves 4 % of a decision."""

MOST_VERSIONS = 64
"""A decision names one of so many last states. A reader keeps them, and no others."""


@dataclass(frozen=True, slots=True)
class Header:
    """time: when the recording began, in seconds since the epoch. release: of Berth. has_pseudonyms: for the names of
    the cluster. notes: what the recording lacks from the beginning. has_all_fields: the states have what any policy
    reads, as those of a dump do, and not only what the recorded policies read."""

    time: float
    release: str
    has_pseudonyms: bool = False
    notes: tuple[str, ...] = ()
    has_all_fields: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """The changes that lead to this version; is_whole: to all objects, from nothing."""

    version: int
    changes: Sequence[Change]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class AppliedPolicy:
    """The document of a configuration, by its hash; an empty hash is the deployed one."""

    hash: str
    document: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AssumedPodLine:
    """A pod that was being bound. pod: as an object, where the state does not have it."""

    namespace: str
    name: str
    uid: str
    node: str
    shares: Mapping[str, int] | None
    pod: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class OpenGangLine:
    """A gang that was being bound. members: the nodes of the members that had arrived, by UID."""

    namespace: str
    name: str
    priority: int
    members: Mapping[str, str]
    is_committed: bool


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """time: in seconds since the epoch. version: of the state that it was made on. digest: of the whole decision.
    open_gangs: those that counted, for a member of a gang."""

    time: float
    verb: str
    outcome: str
    version: int
    configuration_hash: str
    pod: Mapping[str, object]
    nodes: Sequence[str]
    assumed: Sequence[AssumedPodLine]
    digest: str
    open_gangs: Sequence[OpenGangLine] = ()


@dataclass(frozen=True, slots=True)
class UnrecordedDecisions:
    """So many decisions were not recorded: the disk was slower than the scheduler."""

    decisions: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """The recording ends in the middle: its process was killed."""


def assumed_lines(rows: Iterable[Sequence[Any]]) -> list[AssumedPodLine]:
    """From their elements."""
    return [AssumedPodLine(*each) for each in rows]


def open_gang_lines(rows: Iterable[Sequence[Any]]) -> tuple[OpenGangLine, ...]:
    """From their elements."""
    return tuple(OpenGangLine(*each) for each in rows)


Line = Header | State | AppliedPolicy | DecisionLine | UnrecordedDecisions | Truncated


class RecordingWriter:
    """Writes one recording. For one thread."""

    def __init__(self, path: Path, header: Header) -> None:
        """Raises OSError."""
        self._file = gzip.open(path, "wb", compresslevel=COMPRESSION)  # noqa: SIM115  closed by close
        self._numbers: dict[str, int] = {}
        found = {"format": FORMAT, "version": VERSION, "time": header.time, "release": header.release}
        if header.has_pseudonyms:
            found["pseudonyms"] = True
        if header.notes:
            found["notes"] = header.notes
        if header.has_all_fields:
            found["allFields"] = True
        self._put(["header", found])

    def name_of(self, node: str) -> str:
        """The name that the recording has for this node."""
        return node

    def state(self, state: State) -> None:
        """Objects or changes."""
        self._put(["state" if state.is_whole else "changes", state.version, [tuple(each) for each in state.changes]])

    def policy(self, policy: AppliedPolicy) -> bool:
        """Before the first decision by it. Whether the whole state has to be written again."""
        self._put(["policy", policy.hash, policy.document])
        return False

    def decision(self, line: DecisionLine) -> None:
        """After the state and the policy that it was made by."""
        numbers = self._numbers_of(line.nodes)
        self._put(
            [
                "decision",
                round(line.time, 3),
                line.verb,
                line.outcome,
                line.version,
                line.configuration_hash,
                line.pod,
                _numbers_or_ranges(numbers),
                [[each.namespace, each.name, each.uid, each.node, each.shares, each.pod] for each in line.assumed],
                line.digest,
                *([_open_gangs(line.open_gangs)] if line.open_gangs else ()),
            ]
        )

    def _numbers_of(self, nodes: Sequence[str]) -> list[int]:
        try:
            return [*map(self._numbers.__getitem__, nodes)]
        except KeyError:
            new = [name for name in dict.fromkeys(nodes) if name not in self._numbers]
            self._numbers |= {name: number for number, name in enumerate(new, len(self._numbers))}
            self._put(["names", new])
            return [self._numbers[name] for name in nodes]

    def dropped(self, decisions: int) -> None:
        """Where they are missing."""
        self._put(["dropped", decisions])

    def flush(self) -> None:
        """What is written until now can be read, whatever becomes of this process."""
        self._file.flush()

    def close(self) -> None:
        """The end of the recording."""
        self._file.close()

    def _put(self, line: Sequence[object]) -> None:
        self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def read_recording(path: Path) -> Iterator[Line]:
    """The lines in their order; of a truncated recording those that are there, then Truncated. Raises InvalidInput."""
    names: list[str] = []
    lines = _lines(path)
    first = next(lines, None)
    header = _header(path, first)
    yield header
    for line in lines:
        if isinstance(line, Truncated):
            yield line
            return
        try:
            found = _read(line, names)
        except (ValueError, TypeError, IndexError, KeyError) as error:
            raise InvalidInput(f"{path}: a line of the recording cannot be read ({error})") from error
        if found is not None:
            yield found


def _lines(path: Path) -> Iterator[list[Any] | Truncated]:
    try:
        with gzip.open(path, "rb") as file:
            for line in file:
                yield orjson.loads(line)
    except (EOFError, zlib.error, orjson.JSONDecodeError):
        yield Truncated()
    except gzip.BadGzipFile as error:
        raise InvalidInput(f"{path} is no recording: berth serve --record FILE writes one") from error
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from error


def _header(path: Path, line: object) -> Header:
    match line:
        case [
            "header",
            {"format": "berth-recording", "version": int(version), "time": time, "release": str(release), **more},
        ]:
            if version > VERSION:
                raise InvalidInput(
                    f"{path} has format {version}, and this berth reads {VERSION}: install release {release} or later"
                )
            has_pseudonyms, has_all_fields = (more.get(name) is True for name in ("pseudonyms", "allFields"))
            return Header(float(time), release, has_pseudonyms, _texts(more.get("notes")), has_all_fields)
        case Truncated() | None:
            raise InvalidInput(f"{path} is empty: the process that wrote it was killed at once; record again")
    raise InvalidInput(f"{path} is no recording: berth serve --record FILE writes one")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _read(line: list[Any], names: list[str]) -> Line | None:
    match line:
        case ["state" | "changes" as kind, int(version), list(changes)]:
            return State(version, [Change(*each) for each in changes], kind == "state")
        case ["policy", str(applied), dict(document)]:
            return AppliedPolicy(applied, document)
        case ["names", list(new)]:
            names += new
            return None
        case ["decision", at, str(verb), str(outcome), int(version), str(applied), dict(pod), list(numbers), *rest]:
            assumed, digest, *gangs = rest
            nodes = _names(numbers, names)
            pods, opened = assumed_lines(assumed), open_gang_lines(gangs[0] if gangs else ())
            return DecisionLine(float(at), verb, outcome, version, applied, pod, nodes, pods, str(digest), opened)
        case ["dropped", int(decisions)]:
            return UnrecordedDecisions(decisions)
    return None  # of a later release, which readers may pass over


def _open_gangs(gangs: Sequence[OpenGangLine]) -> list[list[object]]:
    return [[each.namespace, each.name, each.priority, each.members, each.is_committed] for each in gangs]


def _numbers_or_ranges(numbers: list[int]) -> Sequence[int | tuple[int, int]]:
    """What is shorter."""
    runs = 1 + sum(map(ne, islice(numbers, 1, None), map((1).__add__, numbers)))
    return list(_ranges(numbers)) if 2 * runs <= len(numbers) else numbers


def _names(numbers: Sequence[Any], names: Sequence[str]) -> list[str]:
    if numbers and isinstance(numbers[0], int):
        return [*map(names.__getitem__, numbers)]
    return [name for first, count in numbers for name in names[first : first + count]]


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First number and count of each run."""
    first = following = -1
    for number in numbers:
        if number != following:
            if following > first:
                yield first, following - first
            first = number
        following = number + 1
    if following > first:
        yield first, following - first
