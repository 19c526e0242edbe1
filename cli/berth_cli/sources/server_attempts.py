"""Reads from a running `berth serve`: the records of its decisions about a pod, and its configuration."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import BaseModel, ValidationError

from berth.scheduling.configuration.document import BerthConfiguration, Decisions
from berth_cli.sources.attempts import Attempt, Attempts, NoRecord, attempts_of, cause_of
from berth_cli.sources.server import (
    CredentialsUnreadable,
    Endpoint,
    NoResponse,
    TLSMaterial,
    json_object,
    running_berth,
)
from berth_cli.terminal.input_files import InvalidInput
from berth_cli.terminal.options import TLSFiles

CALL_SECONDS = 30.0


class ServerUnreachable(InvalidInput):
    """No server responds at this address."""


class _Answer(BaseModel):
    kept: int
    since: float | None
    decisions: list[Attempt]


def open_server(url: str, files: TLSFiles) -> Endpoint:
    """Return the server behind the urlPrefix. Raises InvalidInput."""
    try:
        return Endpoint(url, TLSMaterial.of(files), CALL_SECONDS)
    except CredentialsUnreadable as error:
        raise InvalidInput(str(error)) from error


def running_configuration(server: Endpoint) -> BerthConfiguration:
    """Return the configuration that the server uses. Raises InvalidInput."""
    found = running_berth(server).configuration
    if found is None:
        raise InvalidInput(f"{server.address} does not say its configuration; give --config or --profile")
    return found


def read_attempts(server: Endpoint, namespace: str, name: str) -> Attempts | NoRecord:
    """Return the attempts to place this pod; if several pods had the name, the attempts of the last pod. Raises
    ServerUnreachable, and InvalidInput if the response cannot be read."""
    pod = f"{namespace}/{name}"
    response = server.get(f"decisions?pod={pod}")
    if isinstance(response, NoResponse):
        raise ServerUnreachable(f"{server.address}: {response.cause}; is berth serve running there?")
    content = json_object(response) or {}
    if response.status != 200 or "decisions" not in content:
        reason = content.get("reason") or "is it a berth serve of this release? A stack has no such route"
        raise InvalidInput(f"{server.address}: /decisions answers {response.status}; {reason}")
    try:
        answer = _Answer.model_validate(content)
    except ValidationError as error:
        raise InvalidInput(f"{server.address}: /decisions cannot be read: {cause_of(error)}") from error
    return attempts_of(answer.decisions) or NoRecord(f"{server.address} {_why_none(server, pod, answer)}")


def _why_none(server: Endpoint, pod: str, answer: _Answer) -> str:
    configuration = running_berth(server).configuration
    kept_in = None if configuration is None else configuration.decisions
    if kept_in not in (None, Decisions.MEMORY):
        return f"keeps no records in memory: its configuration has decisions: {kept_in}; set decisions: memory"
    if answer.since is None:
        return "has no records: no scheduler has called it since it started; try berth doctor"
    since = datetime.fromtimestamp(answer.since, UTC).isoformat(timespec="seconds")
    return (
        f"has no record of pod {pod}: it is not among its {answer.kept} decisions since {since}; check the name, and "
        "the pod's schedulerName"
    )
