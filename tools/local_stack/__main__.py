"""`python -m tools.local_stack [--cluster FILE | --kubeconfig FILE] [--port N]`, and from another terminal
`--replace-plugins --plugins DIR` and `--stop`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from berth_cli.main import INTERRUPTED_STATUS
from tests.deployment import sam
from tests.deployment.emulator import Emulator
from tests.deployment.listening import UnexpectedListener
from tests.e2e.kubernetes.loopback import HOST
from tools.local_stack import plugins as layer
from tools.local_stack import running, stack
from tools.local_stack.api_server import DumpApiServer

DIRECTORY = sam.PROJECT / ".build" / "local-stack"
CLUSTER = sam.PROJECT / "events" / "cluster.yaml"
PORT = 4566
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

EPILOG = """\b
Examples:
  make local-stack
  make local-stack CLUSTER=dump.json
  make local-stack PLUGINS=examples/custom-plugin
  make local-stack KUBECONFIG_FILE=kind.kubeconfig PORT=14566
  make local-stack REPLACE=1 PLUGINS=examples/custom-plugin
  make local-stack STOP=1

\b
Exit status: 0 stopped, 1 cannot start, 2 usage error, 130 Ctrl-C before the stack was ready.
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The values of the command line. `dump` or `kubeconfig` is given."""

    dump: Path | None
    kubeconfig: Path | None
    port: int
    plugins: Path | None
    parameters: dict[str, str]
    directory: Path


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--cluster", type=FILE, help="Cluster dump; pods are bound in memory.  [default: events/cluster.yaml]")
@click.option("--kubeconfig", type=FILE, help="Live cluster that this machine reaches; bind creates real Bindings.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port of the account.")
@click.option(
    "--plugins",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Directory with a package berth_plugins; the functions get it as a layer.",
)
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Template parameter; repeatable.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=DIRECTORY,
    help="What the account keeps; one local stack for each.  [default: .build/local-stack]",
)
@click.option(
    "--replace-plugins", is_flag=True, help="Deploy --plugins onto the local stack that runs in another terminal."
)
@click.option("--stop", is_flag=True, help="Stop the local stack that runs in another terminal.")
def main(
    cluster: Path | None,
    kubeconfig: Path | None,
    port: int,
    plugins: Path | None,
    parameters: tuple[str, ...],
    directory: Path,
    *,
    replace_plugins: bool,
    stop: bool,
) -> None:
    """Serve the whole stack on this machine, without an AWS account.

    An emulator stands for AWS: it deploys template.yaml, runs the functions and enforces their roles. Everything is
    deleted at the end.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if stop:
        click.echo("stopped" if running.stop(directory) else "no local stack is running")
        return
    if cluster and kubeconfig:
        raise click.UsageError("give --cluster or --kubeconfig, not both")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if replace_plugins:
            _replace_plugins(plugins, directory)
            return
        with running.lock(directory):
            dump = None if kubeconfig else cluster or CLUSTER
            _serve(Options(dump, kubeconfig, port, plugins, _pairs(parameters), directory))
    except (running.AlreadyRunning, stack.CannotStart, UnexpectedListener) as error:
        raise click.ClickException(str(error)) from error
    except (ChildProcessError, TimeoutError) as error:
        raise click.ClickException(f"the emulator does not run: {error}") from error
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        sys.exit(INTERRUPTED_STATUS)


def _replace_plugins(plugins: Path | None, directory: Path) -> None:
    if plugins is None:
        raise click.UsageError("--replace-plugins needs --plugins DIR")
    layer.replace_plugins(plugins, directory, _step)
    click.echo("the functions have the plugins; apply the configuration again: berth config apply")


def _serve(options: Options) -> None:
    """Until Ctrl-C. The emulator and the server of the dump end with the block."""
    stack.check_tools(options.port)
    directory, kubeconfig, parameters = options.directory, options.kubeconfig, options.parameters
    account = directory / "account"
    shutil.rmtree(account, ignore_errors=True)
    with ExitStack() as cleanup:
        document = stack.read_kubeconfig(kubeconfig) if kubeconfig else None
        if options.dump is not None:
            document = cleanup.enter_context(DumpApiServer(options.dump, HOST)).kubeconfig()
        assert document is not None
        cleanup.callback(stack.keep_log, account)
        with _step("emulator: starts"):
            emulator = cleanup.enter_context(Emulator(account, port=options.port))
        if options.plugins is not None:
            with _step("plugins: package and publish"):
                parameters = parameters | layer.publish_plugins(emulator.client("lambda"), options.plugins, directory)
        stack.deploy(emulator, document, directory, parameters, _step)
        called = stack.address(emulator)
        stack.start_watcher(emulator)
        with _step("watcher: first publication, up to a minute"):
            stack.wait_until_healthy(called, account)
        with _step("verbs: first calls"):
            stack.start_verbs(called)
        cleanup.callback(stack.remove_files, directory)
        stack.write_files(directory, emulator, called, kubeconfig)
        _summary(called, options.dump or kubeconfig, directory)
        try:
            emulator.wait()
        except KeyboardInterrupt:
            click.echo("stopping")
            return
        raise stack.CannotStart(f"the emulator has ended; its log is in {account}")


def _summary(called: stack.Address, cluster: Path | None, directory: Path) -> None:
    environment, scheduler = (
        os.path.relpath(directory / name, sam.PROJECT) for name in (stack.ENVIRONMENT, stack.SCHEDULER)
    )
    click.echo(f"""\
The stack {sam.STACK_NAME} serves {cluster} on {called.url}; Ctrl-C stops it and deletes everything.
In another terminal:
  source {environment}                  # the account, BERTH_URL and BERTH_USER
  berth doctor --stack $BERTH_STACK --url "$BERTH_URL" --scheduler-config {scheduler}
  curl -u "$BERTH_USER" -H 'Content-Type: application/json' -d @events/filter/cache-mode.body.json "$BERTH_URL/filter"
  kube-scheduler --config {scheduler}   # with a live cluster""")


def _pairs(parameters: tuple[str, ...]) -> dict[str, str]:
    for each in parameters:
        if "=" not in each:
            raise click.UsageError(f"--parameter {each}: write NAME=VALUE")
    return dict(each.split("=", 1) for each in parameters)


@contextmanager
def _step(name: str) -> Iterator[None]:
    """A line for each step: with its time at the end, and on a terminal a sign of life meanwhile."""
    console, started = Console(stderr=True, highlight=False), time.monotonic()
    if console.is_terminal:
        with console.status(name):
            yield
    else:
        click.echo(f"{name} …", err=True)
        yield
    click.echo(f"{name.partition(',')[0]}: {time.monotonic() - started:.0f} s", err=True)


if __name__ == "__main__":
    stack.leave_accounts(os.environ)
    main(prog_name="local-stack")
