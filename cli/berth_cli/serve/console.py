"""The page of `berth console` beside the verbs, on a port and with a token of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import click

from berth.lease.clock import SystemClock
from berth_cli.console.cluster.node_cache import NodeCacheSource
from berth_cli.console.decisions.recent import DecisionsHere
from berth_cli.console.health.tables import ConsoleTables, TableHealth
from berth_cli.console.policy.documents import SecondPolicy
from berth_cli.console.running import ConsoleContents, console_in_thread, show_address
from berth_cli.console.sources import doctor_with
from berth_cli.doctor.inputs import Options
from berth_cli.http_server.server import ListenError
from berth_cli.serve.local_stack import LocalStack

LOOK_SECONDS = 0.25
"""Its node cache is in this process, or in tables that its verbs read more often."""


@contextmanager
def console_of(
    stack: LocalStack, address: str, port: int, kubeconfig: Path | None, second: SecondPolicy | None
) -> Iterator[None]:
    """Serve the page until the block ends. address: of the server. kubeconfig: None for a dump. second: the policy of
    --shadow. Raises ClickException for the port."""
    try:
        with console_in_thread(shown_of(stack, address, kubeconfig, second), port, show_address):
            yield
    except ListenError as error:
        raise click.ClickException(f"--console-port: {error}") from error


def shown_of(
    stack: LocalStack, address: str, kubeconfig: Path | None = None, second: SecondPolicy | None = None
) -> ConsoleContents:
    """The node cache and the decisions of the verbs in this process."""
    adapters, is_open = stack.cache, address.startswith("http:")
    source = NodeCacheSource(
        address, adapters.tables.cache, adapters.reader, adapters.configurations, Event(), LOOK_SECONDS
    )
    return ConsoleContents(
        source,
        TableHealth(ConsoleTables.of(adapters), SystemClock()),
        DecisionsHere(stack.decisions),
        second,
        gang_table=adapters.tables.gangs,
        shadow=None if stack.shadow is None else stack.shadow.document,
        # Over HTTPS the checks need the scheduler's certificates, which are not here.
        doctor=doctor_with(Options(url=f"{address}/scheduler", kubeconfig=kubeconfig)) if is_open else None,
    )
