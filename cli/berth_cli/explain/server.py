"""What a running `berth serve` says about a pod: the records of its decisions, and its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, Field, ValidationError

from berth.decisions.document import VERSION
from berth.scheduling.configuration.decisions import Decisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.doctor.access.credentials import CredentialsUnreadable, load_tls_material
from berth_cli.doctor.access.endpoint import Endpoint, NoResponse
from berth_cli.doctor.access.https_endpoint import HTTPSEndpoint
from berth_cli.doctor.access.running import json_object, running_berth
from berth_cli.explain.attempts import Attempt, Attempts, BindAttempt, NoRecord, RejectedCount
from berth_cli.scheduler_config.tls_config import TLSFiles
from berth_cli.serve.decisions_endpoint import MOST_ANSWERED

CALL_SECONDS = 30.0
FILTERS = frozenset({"filter", "filter_onlyone"})


class RecordsUnavailable(Exception):
    """The server did not answer with records that can be read. The message names address, cause and remedy."""


@dataclass(frozen=True, slots=True)
class Served:
    """configuration: by which the server decides; None if it was not asked."""

    attempts: Attempts | NoRecord
    configuration: BerthConfiguration | None


class _Reason(BaseModel):
    code: str
    reason: str
    plugin: str
    count: int
    nodes: list[str]


class _Record(BaseModel):
    """A record of version 1, with the keys that are read here."""

    time: float
    verb: str
    uid: str
    outcome: str
    profile: str
    configuration_hash: str = Field(alias="configurationHash")
    cache_age: float | None = Field(alias="cacheAgeSeconds")
    nodes: int
    feasible: int | None
    reasons: list[_Reason]
    chosen: str | None = None
    error: str = ""


class _Answer(BaseModel):
    kept: int
    since: float | None
    decisions: list[_Record]


def ask_server(url: str, files: TLSFiles, pod: tuple[str, str], *, wants_configuration: bool) -> Served:
    """Ask the server behind the urlPrefix about the pod (namespace, name). Raises RecordsUnavailable."""
    try:
        server = HTTPSEndpoint(url, load_tls_material(None, files), CALL_SECONDS)
    except CredentialsUnreadable as error:
        raise RecordsUnavailable(str(error)) from error
    attempts = read_attempts(server, *pod)
    return Served(attempts, running_configuration(server) if wants_configuration else None)


def running_configuration(server: Endpoint) -> BerthConfiguration:
    """The configuration that the server decides by. Raises RecordsUnavailable."""
    found = running_berth(server).configuration
    if found is None:
        raise RecordsUnavailable(f"{server.address} does not say its configuration; give --config or --profile")
    return found


def read_attempts(server: Endpoint, namespace: str, name: str) -> Attempts | NoRecord:
    """The attempts to place this pod; of several pods that had the name, the last one's. Raises RecordsUnavailable."""
    answer = _read(server, f"{namespace}/{name}")
    # Where the scheduler is configured without filter, its calls of prioritize are the attempts.
    of_verbs = [each for each in answer.decisions if each.verb in FILTERS]
    records = of_verbs or [each for each in answer.decisions if each.verb == "prioritize"]
    if not records:
        return NoRecord(_why_none(server, f"{namespace}/{name}", answer))
    # A call that failed does not know the pod's uid.
    uid = next((each.uid for each in reversed(records) if each.uid), "")
    own = [_attempt(each) for each in records if each.uid in (uid, "")]
    is_first_of_pod = len(answer.decisions) < MOST_ANSWERED and answer.since != answer.decisions[0].time
    return Attempts(own, is_first_of_pod or len(own) < len(records), _last_bind(answer.decisions, own[-1].at))


def _last_bind(records: Sequence[_Record], after: float) -> BindAttempt | None:
    found = [each for each in records if each.verb == "bind" and each.time >= after]
    return BindAttempt(found[-1].time, found[-1].outcome, found[-1].chosen or "", found[-1].error) if found else None


def _read(server: Endpoint, pod: str) -> _Answer:
    response = server.get(f"decisions?pod={pod}")
    if isinstance(response, NoResponse):
        raise RecordsUnavailable(f"{server.address}: {response.cause}; is berth serve running there?")
    content = json_object(response) or {}
    if response.status != 200 or "decisions" not in content:
        reason = content.get("reason") or "is it a berth serve of this release? A stack has no such route"
        raise RecordsUnavailable(f"{server.address}: /decisions answers {response.status}; {reason}")
    later = _later_version(content)
    if later is not None:
        raise RecordsUnavailable(
            f"{server.address}: its records have version {later}, and this berth reads version {VERSION}; "
            "install the release of the server here"
        )
    try:
        return _Answer.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RecordsUnavailable(f"{server.address}: /decisions cannot be read: {where}: {first['msg']}") from error


def _later_version(content: Mapping[str, object]) -> object:
    records = content.get("decisions")
    versions = [each.get("version") for each in records if isinstance(each, dict)] if isinstance(records, list) else []
    return next((each for each in versions if isinstance(each, int) and each > VERSION), None)


def _why_none(server: Endpoint, pod: str, answer: _Answer) -> str:
    configuration = running_berth(server).configuration
    kept_in = None if configuration is None else configuration.decisions
    if kept_in in (Decisions.OFF, Decisions.LOG):
        return (
            f"{server.address} keeps no records in memory: its configuration has decisions: {kept_in}; "
            "set decisions: memory"
        )
    if answer.since is None:
        return f"{server.address} has no records: no scheduler has called it since it started; try berth doctor"
    since = datetime.fromtimestamp(answer.since, UTC).isoformat(timespec="seconds")
    return (
        f"{server.address} has no record of pod {pod}: it is not among its {answer.kept} decisions since {since}; "
        "check the name, and the pod's schedulerName"
    )


def _attempt(record: _Record) -> Attempt:
    return Attempt(
        record.time,
        record.verb,
        record.outcome,
        record.profile,
        record.configuration_hash,
        record.cache_age,
        record.nodes,
        record.feasible,
        _reasons(record.reasons),
        record.error,
    )


def _reasons(found: Sequence[_Reason]) -> tuple[RejectedCount, ...]:
    return tuple(RejectedCount(each.code, each.reason, each.plugin, each.count, tuple(each.nodes)) for each in found)
