"""What a running `berth serve` says about a pod: the records of its decisions, and its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf

from pydantic import BaseModel, Field, ValidationError

from berth.decisions.document import MOST_ANSWERED, VERSION
from berth.scheduling.configuration.decisions import Decisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.doctor.access.credentials import CredentialsUnreadable, load_tls_material
from berth_cli.doctor.access.endpoint import Endpoint, NoResponse
from berth_cli.doctor.access.https_endpoint import HTTPSEndpoint
from berth_cli.doctor.access.running import json_object, running_berth
from berth_cli.explain.attempts import Attempts, NoRecord, RecordedVerdict
from berth_cli.explain.sources.records import ALWAYS, DecisionRecord, attempts_of, last_verdict, later_version
from berth_cli.scheduler_config.tls_config import TLSFiles

CALL_SECONDS = 30.0


class RecordsUnavailable(Exception):
    """The server did not answer with records that can be read. The message names address, cause and remedy."""


class ServerUnreachable(RecordsUnavailable):
    """Nobody answers at this address."""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """configuration: by which the server decides; None if it was not asked."""

    attempts: Attempts | NoRecord
    configuration: BerthConfiguration | None


class _Answer(BaseModel):
    kept: int
    since: float | None
    dropped_until: float | None = Field(default=inf, alias="droppedUntil")
    decisions: list[DecisionRecord]

    @property
    def complete_after(self) -> float:
        """No record of the pod after this time is missing."""
        dropped = ALWAYS if self.dropped_until is None else self.dropped_until
        is_cut = len(self.decisions) == MOST_ANSWERED
        return max(dropped, self.decisions[0].time) if is_cut else dropped


def ask_server(url: str, files: TLSFiles, pod: tuple[str, str], *, wants_configuration: bool) -> ServerAnswer:
    """Ask the server behind the urlPrefix about the pod (namespace, name). Raises RecordsUnavailable."""
    server = _server(url, files)
    attempts = read_attempts(server, *pod)
    return ServerAnswer(attempts, running_configuration(server) if wants_configuration else None)


def running_configuration(server: Endpoint) -> BerthConfiguration:
    """The configuration that the server decides by. Raises RecordsUnavailable."""
    found = running_berth(server).configuration
    if found is None:
        raise RecordsUnavailable(f"{server.address} does not say its configuration; give --config or --profile")
    return found


def read_attempts(server: Endpoint, namespace: str, name: str) -> Attempts | NoRecord:
    """The attempts to place this pod; of several pods that had the name, the last one's. Raises RecordsUnavailable."""
    answer = _read(server, f"{namespace}/{name}")
    found = attempts_of(answer.decisions, complete_after=answer.complete_after)
    return found or NoRecord(_why_none(server, f"{namespace}/{name}", answer))


def ask_server_about_node(url: str, files: TLSFiles, pod: tuple[str, str], node: str) -> RecordedVerdict | NoRecord:
    """What the last call of filter decided on the node. Raises RecordsUnavailable."""
    return read_verdict(_server(url, files), *pod, node)


def read_verdict(server: Endpoint, namespace: str, name: str, node: str) -> RecordedVerdict | NoRecord:
    """Raises RecordsUnavailable."""
    answer = _read(server, f"{namespace}/{name}", "&nodes=1")
    return last_verdict(answer.decisions, node) or NoRecord(_why_none(server, f"{namespace}/{name}", answer))


def _server(url: str, files: TLSFiles) -> Endpoint:
    try:
        return HTTPSEndpoint(url, load_tls_material(None, files), CALL_SECONDS)
    except CredentialsUnreadable as error:
        raise RecordsUnavailable(str(error)) from error


def _read(server: Endpoint, pod: str, more: str = "") -> _Answer:
    response = server.get(f"decisions?pod={pod}{more}")
    if isinstance(response, NoResponse):
        raise ServerUnreachable(f"{server.address}: {response.cause}; is berth serve running there?")
    content = json_object(response) or {}
    if response.status != 200 or "decisions" not in content:
        reason = content.get("reason") or "is it a berth serve of this release? A stack has no such route"
        raise RecordsUnavailable(f"{server.address}: /decisions answers {response.status}; {reason}")
    later = later_version(content["decisions"])
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


_KEPT_ELSEWHERE = {
    Decisions.LOG: "they are in its log, one of a hundred",
    Decisions.TABLE: "with --store dynamodb they are in the cache table: berth explain --table NAME",
    Decisions.FILE: "they are in the file of --decisions-file",
}


def _why_none(server: Endpoint, pod: str, answer: _Answer) -> str:
    configuration = running_berth(server).configuration
    kept_in = None if configuration is None else configuration.decisions
    if kept_in not in (None, Decisions.MEMORY):
        elsewhere = f" ({_KEPT_ELSEWHERE[kept_in]})" if kept_in in _KEPT_ELSEWHERE else ""
        return (
            f"{server.address} keeps no records in memory: its configuration has decisions: {kept_in}{elsewhere}; "
            "set decisions: memory"
        )
    if answer.since is None:
        return f"{server.address} has no records: no scheduler has called it since it started; try berth doctor"
    since = datetime.fromtimestamp(answer.since, UTC).isoformat(timespec="seconds")
    return (
        f"{server.address} has no record of pod {pod}: it is not among its {answer.kept} decisions since {since}; "
        "check the name, and the pod's schedulerName"
    )
