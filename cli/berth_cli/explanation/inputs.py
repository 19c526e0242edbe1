"""Reads the inputs of an explanation: the pod in its cluster, the configuration, and the recorded attempts."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth_cli.configuration.document import read_policy
from berth_cli.explanation.target import GONE_FROM_DUMP, Target, read_target
from berth_cli.sources.attempts import Attempts, NoRecord
from berth_cli.sources.dump.admission import parse_name
from berth_cli.sources.dump.cluster import read_dump
from berth_cli.terminal.input_files import display_name
from berth_cli.terminal.options import TLSFiles
from berth_cli.terminal.output import duration

CONFIGURATION_UNKNOWN = (
    "Evaluated by kube-scheduler's own rules alone: the server's configuration is unknown; give --config or --profile."
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of the pod, its cluster and its attempts. stack: the name of a deployed stack, which has them all."""

    cluster: Path | None = None
    kubeconfig: Path | None = None
    url: str | None = None
    tls: TLSFiles = field(default_factory=TLSFiles)
    stack: str | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of an explanation. notes: notes for the user about the sources. failure: why Berth cannot answer calls
    now; empty if it can. passes_exempt: whether exempt pods pass despite the failure."""

    configuration: BerthConfiguration
    attempts: Attempts | NoRecord | None
    target: Target
    notes: tuple[str, ...] = ()
    failure: str = ""
    passes_exempt: bool = False


def read_inputs(sources: Sources, pod: str, config: Path | None, profile: str | None) -> Inputs:
    """Read the inputs. Without config and profile, use the policy of the server or stack. Raises InvalidInput."""
    given = read_policy(config, profile) if config or profile else None
    attempts: Attempts | NoRecord | None = None
    running: BerthConfiguration | None = None
    objects: Iterable[Object] = ()
    where, gone, is_trimmed = "the cluster", GONE_FROM_DUMP, False
    notes, failure = tuple[str, ...](), ""
    if sources.url is not None:
        attempts, running, failure = _ask_server(sources.url, sources.tls, pod, wants_configuration=given is None)
        notes = (CONFIGURATION_UNKNOWN,) if failure and given is None else ()
    elif sources.stack is not None:
        # Imported here: the AWS SDK is slow to import, and a dump does not need it.
        from berth_cli.sources.stack_state import read_stack

        state = read_stack(sources.stack, sources.region, parse_name(pod))
        objects, where, is_trimmed = state.objects, state.where, True
        gone = "its node cache has none of that name: the pod is gone, or the watcher has not seen it yet"
        attempts, running, failure, notes = state.attempts, state.configuration, state.failure, state.notes
    configuration = given or running or read_policy(None)
    if sources.cluster is not None:
        where, gone, is_trimmed = display_name(sources.cluster), GONE_FROM_DUMP, False
        objects = read_dump(sources.cluster)
    elif sources.kubeconfig is not None:
        # Imported here: the Kubernetes client is slow to import, and a dump does not need it.
        from berth_cli.sources.live import live_objects

        where, gone, is_trimmed = "the cluster", _gone(attempts), False
        objects = live_objects(sources.kubeconfig, pod, configuration.counting, time.time)
    target = read_target(objects, where, pod, configuration.counting, gone, is_trimmed=is_trimmed)
    return Inputs(configuration, attempts, target, notes, failure, passes_exempt=sources.stack is not None)


def _ask_server(
    url: str, tls: TLSFiles, pod: str, *, wants_configuration: bool
) -> tuple[Attempts | NoRecord, BerthConfiguration | None, str]:
    """Return the attempts, the configuration, and the reason if the server does not respond. Raises InvalidInput."""
    # Imported here: a dump does not need an HTTP client.
    from berth_cli.sources import server_attempts as server

    there = server.open_server(url, tls)
    try:
        attempts = server.read_attempts(there, *parse_name(pod))
        return attempts, server.running_configuration(there) if wants_configuration else None, ""
    except server.ServerUnreachable as error:
        return NoRecord(error.message), None, f"Berth does not answer: {error.message}"


def _gone(attempts: Attempts | NoRecord | None) -> str:
    if not isinstance(attempts, Attempts):
        return "it is gone, or was never there; check the name"
    return f"it is gone: its last attempt was {duration(time.time() - attempts.all[-1].time)} ago"
