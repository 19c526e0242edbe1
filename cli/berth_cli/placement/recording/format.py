"""The format of a recording: gzip, with a JSON object per line. docs/how-to/test-policies.md lists what is recorded.

The cluster's state is a log: the published objects once, then the changes of each version. A decision names the version
that it was made on, and the nodes of its request by their numbers: names are numbered when they first appear.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from berth.nodecache.feed.changes import Change
from berth.scheduling.evaluation.verdicts import FilterResult
from berth.scheduling.gangs.gang import OpenGang
from berth_cli.terminal.input_files import InvalidInput

VERSION = 2
"""The version rises when an earlier reader would misread a line."""

COMPRESSION = 4
"""Level 6 takes five times as long and saves 4 % of a decision."""

MAX_VERSIONS = 64
"""A decision names one of the last states. A reader keeps this many of them."""

Document = Mapping[str, object]
AssumedRow = tuple[str, str, str, str, Mapping[str, int] | None, Document | None]
"""A pod that was being bound: namespace, name, UID, node, shares, and the pod if the state does not have it."""


@dataclass(frozen=True, slots=True)
class Header:
    """time: when the recording began, in seconds since the epoch. release: of Berth. has_all_fields: the states have
    all that any policy reads, as those of a dump do, and not only what the recorded policies read."""

    time: float
    release: str
    has_all_fields: bool = False
    version: int = VERSION
    kind: Literal["header"] = "header"


@dataclass(frozen=True, slots=True)
class State:
    """The changes that lead to this version; is_whole: all objects."""

    version: int
    changes: Sequence[Change]
    is_whole: bool
    kind: Literal["state"] = "state"


@dataclass(frozen=True, slots=True)
class AppliedPolicy:
    """The document of a configuration, by its hash. The deployed configuration has an empty hash."""

    hash: str
    document: Document
    kind: Literal["policy"] = "policy"


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """time: in seconds since the epoch. version: of the state that was read. nodes: numbers of names; new_names: names
    that do not have a number yet. digest: of the whole decision. open_gangs: the gangs that were being bound, for a
    member of a gang."""

    time: float
    verb: str
    outcome: str
    version: int
    configuration_hash: str
    pod: Document
    nodes: Sequence[int]
    new_names: Sequence[str]
    assumed: Sequence[AssumedRow]
    digest: str
    open_gangs: tuple[OpenGang, ...] = ()
    kind: Literal["decision"] = "decision"


@dataclass(frozen=True, slots=True)
class Gap:
    """The number of decisions that were not recorded: the disk was slower than the scheduler. None: the recording ends
    in the middle, because its process was killed."""

    decisions: int | None = None
    kind: Literal["gap"] = "gap"


Line = Header | State | AppliedPolicy | DecisionLine | Gap
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])


class RecordingWriter:
    """Writes one recording. For one thread."""

    def __init__(self, path: Path, header: Header) -> None:
        """Create the file: a recording cannot be continued. Raises OSError."""
        self._file = gzip.open(path, "xb", compresslevel=COMPRESSION)  # noqa: SIM115  closed by close
        # After a flush all lines can be read, even if this process is killed.
        self.flush, self.close = self._file.flush, self._file.close
        self._numbers: dict[str, int] = {}
        self.write(header)

    def numbered(self, names: Sequence[str]) -> tuple[Sequence[int], Sequence[str]]:
        """Return the numbers of these nodes, and the names that are new. The next line has to be their decision."""
        new = [name for name in dict.fromkeys(names) if name not in self._numbers]
        self._numbers |= {name: number for number, name in enumerate(new, len(self._numbers))}
        return [*map(self._numbers.__getitem__, names)], new

    def write(self, line: Line) -> None:
        """Write a line. A decision comes after its state and its policy."""
        self._file.write(orjson.dumps(line, default=tuple, option=orjson.OPT_APPEND_NEWLINE))


def read_recording(path: Path) -> Iterator[Line]:
    """Read the lines in their order; a truncated recording ends with a gap. Raises InvalidInput."""
    lines = _lines(path)
    header = next(lines, None)
    if header is None or isinstance(header, Gap):
        raise InvalidInput(f"{path} is empty: the process that wrote it was killed at once; record again")
    if not isinstance(header, Header) or header.version != VERSION:
        version = f"has format {header.version}, not {VERSION}" if isinstance(header, Header) else "is no recording"
        raise InvalidInput(f"{path} {version}: berth serve --record FILE writes one")
    yield header
    yield from lines


def _lines(path: Path) -> Iterator[Line]:
    try:
        with gzip.open(path, "rb") as file:
            for content in file:
                yield _LINE.validate_json(content) if content.endswith(b"\n") else Gap()
    except (EOFError, zlib.error):
        yield Gap()
    except ValidationError as error:
        raise InvalidInput(f"{path}: a line of the recording cannot be read ({error.errors()[0]['msg']})") from error
    except gzip.BadGzipFile as error:
        raise InvalidInput(f"{path} is no recording: berth serve --record FILE writes one") from error
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from error


def digest_of_verdicts(verdicts: FilterResult | None, chosen: str = "") -> str:
    """Digest a decision of filter or filter_onlyone: which nodes pass, plugin and reason of each other node. verdicts:
    None for an exempt pod."""
    if verdicts is None:
        return "exempt"
    rejected = verdicts.rejected
    texts = [f"{status.code.value}\0{status.plugin}\0{status.message}" for status in rejected.statuses]
    return digest(bytes(verdicts.mask), "\n".join(rejected.for_each_node(texts)), chosen)


def digest(*parts: object) -> str:
    """Digest the parts of a decision. Equal decisions, and no others, have the same digest."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
