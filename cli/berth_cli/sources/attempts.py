"""The attempts to place one pod, from the records of decisions of any source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from berth.extender.outcomes import FilterOutcome
from berth.scheduling.reason_code import ReasonCode
from berth_cli.terminal.output import duration, table_lines

UNJUDGED = frozenset({ReasonCode.TOO_COSTLY, ReasonCode.NODE_NOT_IN_CACHE})
MAX_ATTEMPTS = 5
FILTERS = frozenset({"filter", "filter_onlyone"})


class RejectedCount(BaseModel):
    """The number of nodes that one reason rejects, with examples. code: a string, because a server of another release
    may have other codes."""

    model_config = ConfigDict(frozen=True)

    code: str
    reason: str
    plugin: str
    count: int
    nodes: tuple[str, ...]


class Attempt(BaseModel):
    """An extender call, as in a record of version 1. time: seconds since the epoch. nodes: the number of nodes in the
    request. feasible: how many of them passed; None if the rules were not applied. chosen: the node of a bind. error:
    empty if the call succeeded."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    version: Literal[1] = 1
    time: float
    verb: str
    uid: str
    outcome: str
    profile: str
    configuration_hash: str = Field(alias="configurationHash")
    cache_age: float | None = Field(alias="cacheAgeSeconds")
    nodes: int
    feasible: int | None
    reasons: tuple[RejectedCount, ...]
    chosen: str | None = None
    error: str = ""

    @property
    def failure(self) -> str:
        """Why the call failed, or rejected all nodes without evaluating any; otherwise empty."""
        codes = {each.code for each in self.reasons}
        is_unjudged = self.outcome == FilterOutcome.TOO_COSTLY or codes <= UNJUDGED
        if self.feasible == 0 and is_unjudged:
            return self.error or ", ".join(each.reason for each in self.reasons)
        return self.error


@dataclass(frozen=True, slots=True)
class Attempts:
    """One or more attempts, the oldest first. bind: the bind that followed the last attempt; None without a bind."""

    all: Sequence[Attempt]
    bind: Attempt | None = None

    def lines(self, now: float) -> Iterator[str]:
        """Yield the last attempts, the newest first. now: seconds since the epoch."""
        yield f"Attempts: {len(self.all)}; the newest first:"
        rows = [("AGO", "FIT", "NODES", "OUTCOME", "PROFILE")]
        for each in list(reversed(self.all))[:MAX_ATTEMPTS]:
            fitting, nodes = ("-", "-") if each.error else ("all", str(each.nodes))
            fitting = fitting if each.feasible is None else str(each.feasible)
            rows.append((duration(now - each.time), fitting, nodes, each.outcome, each.profile))
        yield from table_lines(rows, "  ")
        if self.all[-1].error:
            yield f"The last attempt failed: {self.all[-1].error}"
        if (bind := self.bind) is not None:
            result = f"failed: {bind.error}" if bind.error else "succeeded"
            yield f"Bind to {bind.chosen or 'a node'}, {duration(now - bind.time)} ago: {result}"

    @property
    def document(self) -> Mapping[str, object]:
        """The attempts as keys of a JSON object."""
        bind = self.bind
        return {
            "attempts": [each.model_dump(by_alias=True, exclude={"version", "uid", "chosen"}) for each in self.all],
            "bind": bind
            and {"time": bind.time, "outcome": bind.outcome, "node": bind.chosen or "", "error": bind.error},
        }


@dataclass(frozen=True, slots=True)
class NoRecord:
    """There are no records of the attempts. reason: the cause and the remedy."""

    reason: str

    def lines(self, _: float) -> Iterator[str]:
        """Yield the reason."""
        yield f"No attempts on record: {self.reason}"

    @property
    def document(self) -> Mapping[str, object]:
        """The same keys as with attempts."""
        return {"attempts": [], "bind": None}


def cause_of(error: ValidationError) -> str:
    """Return why records cannot be read: the first invalid field, and its error."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def attempts_of(records: Sequence[Attempt]) -> Attempts | None:
    """Return the attempts to place a pod; if several pods had its name, the attempts of the last pod. None without
    attempts. records: the records of pods with the name, the oldest first."""
    of_filters = [each for each in records if each.verb in FILTERS]
    # If the scheduler is configured without filter, its prioritize calls are the attempts.
    found = of_filters or [each for each in records if each.verb == "prioritize"]
    if not found:
        return None
    # A failed call has no UID.
    uid = next((each.uid for each in reversed(found) if each.uid), "")
    own = [each for each in found if each.uid in (uid, "")]
    binds = [each for each in records if each.verb == "bind" and each.time >= own[-1].time]
    return Attempts(own, binds[-1] if binds else None)
