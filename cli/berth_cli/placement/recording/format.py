"""The format of a recording: gzip, with one JSON object per line. docs/how-to/test-policies.md lists the recorded data.

The cluster's state is a log: first all published objects, then the changes of each version. A decision names its
version, and refers to its nodes by number: names are numbered when they first appear.
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
"""The format's version. It is incremented when an earlier reader would misread a line."""

COMPRESSION = 4
"""The level of compression. Level 6 takes five times as long and makes a decision 4 % smaller."""

MAX_VERSIONS = 64
"""The number of states that a reader keeps. A decision must refer to one of them."""

Document = Mapping[str, object]
AssumedRow = tuple[str, str, str, str, Mapping[str, int] | None, Document | None]
"""A pod in bind: namespace, name, UID, node, shares, and the whole pod if the state lacks it."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line. time: the start of the recording, in seconds since the epoch. release: the release of Berth.
    has_all_fields: whether the states have the fields that any policy reads, as in a dump, not only the fields that
    the recorded policies read.
    """

    time: float
    release: str
    has_all_fields: bool = False
    version: int = VERSION
    kind: Literal["header"] = "header"


@dataclass(frozen=True, slots=True)
class State:
    """The changes from the previous state to this version; all objects if is_whole."""

    version: int
    changes: Sequence[Change]
    is_whole: bool
    kind: Literal["state"] = "state"


@dataclass(frozen=True, slots=True)
class AppliedPolicy:
    """The document of a configuration, and its hash. The deployed configuration has an empty hash."""

    hash: str
    document: Document
    kind: Literal["policy"] = "policy"


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """A recorded decision. time: seconds since the epoch. version: the version of the state that was read. nodes: the
    candidates, each as the number of its name. new_names: names that get a number with this line. digest: the digest of
    the whole decision. open_gangs: for a member of a gang, the gangs in bind.
    """

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
    """A gap in the recording. decisions: the number of decisions that were not recorded, because the disk was slower
    than the scheduler; None: the recording is truncated, because its process was killed."""

    decisions: int | None = None
    kind: Literal["gap"] = "gap"


Line = Header | State | AppliedPolicy | DecisionLine | Gap
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])


class RecordingWriter:
    """Writes one recording. Not thread-safe."""

    def __init__(self, path: Path, header: Header) -> None:
        """Create the file; an existing recording cannot be continued. Raises OSError."""
        self._file = gzip.open(path, "xb", compresslevel=COMPRESSION)  # noqa: SIM115  closed by close
        # After a flush, all lines are readable even if this process is killed.
        self.flush, self.close = self._file.flush, self._file.close
        self._numbers: dict[str, int] = {}
        self.write(header)

    def numbered(self, names: Sequence[str]) -> tuple[Sequence[int], Sequence[str]]:
        """Return the numbers of these nodes, and the names that are new. The next line must be a decision with these
        names."""
        new = [name for name in dict.fromkeys(names) if name not in self._numbers]
        self._numbers |= {name: number for number, name in enumerate(new, len(self._numbers))}
        return [*map(self._numbers.__getitem__, names)], new

    def write(self, line: Line) -> None:
        """Write a line. A decision must follow its state and its policy."""
        self._file.write(orjson.dumps(line, default=tuple, option=orjson.OPT_APPEND_NEWLINE))


def read_recording(path: Path) -> Iterator[Line]:
    """Yield the lines in order; a truncated recording ends with a gap. Raises InvalidInput."""
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
    """Hash a decision of filter or filter_onlyone: the nodes that pass, and the plugin and the reason for each other
    node. verdicts: None for an exempt pod, whose hash is `exempt`."""
    if verdicts is None:
        return "exempt"
    rejected = verdicts.rejected
    texts = [f"{status.code.value}\0{status.plugin}\0{status.message}" for status in rejected.statuses]
    return digest(bytes(verdicts.mask), "\n".join(rejected.for_each_node(texts)), chosen)


def digest(*parts: object) -> str:
    """Hash the parts of a decision. Only equal decisions have the same digest."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
