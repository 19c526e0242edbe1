"""`python -m tools.local_stack [--cluster FILE | --kubeconfig FILE] [--port N]`, and from another terminal
`--replace-plugins --plugins DIR`."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from berth_cli.main import INTERRUPTED_STATUS
from tests.deployment import sam
from tests.deployment.dump_api_server import DumpApiServer
from tests.deployment.emulator import Emulator
from tests.deployment.listening import UnexpectedListener
from tests.e2e.kubernetes.loopback import HOST
from tools.local_stack import plugins as layer
from tools.local_stack import stack

DIRECTORY = sam.PROJECT / ".build" / "local-stack"
CLUSTER = sam.PROJECT / "events" / "cluster.yaml"
PORT = 4566
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

EPILOG = """\b
Exit status: 0 stopped, 1 cannot start, 2 usage error, 130 Ctrl-C before the stack was ready.
"""


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
def main(
    cluster: Path | None,
    kubeconfig: Path | None,
    port: int,
    plugins: Path | None,
    parameters: tuple[str, ...],
    directory: Path,
    *,
    replace_plugins: bool,
) -> None:
    """Serve the whole stack on this machine, without an AWS account.

    An AWS emulator deploys template.yaml, runs the functions and enforces their roles. Ctrl-C deletes everything.
    """
    if cluster and kubeconfig:
        raise click.UsageError("give --cluster or --kubeconfig, not both")
    if replace_plugins and plugins is None:
        raise click.UsageError("--replace-plugins needs --plugins DIR")
    directory.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if replace_plugins and plugins is not None:
            layer.replace_plugins(plugins, directory, _step)
            click.echo("the functions have the plugins; apply the configuration again: berth config apply")
            return
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock is released however the process ends
            _serve(directory, port, kubeconfig or cluster or CLUSTER, kubeconfig, plugins, _pairs(parameters))
    except BlockingIOError as error:
        raise click.ClickException("a local stack of this clone runs already; stop it with Ctrl-C") from error
    except (stack.CannotStart, sam.SamFailed, UnexpectedListener, ChildProcessError, TimeoutError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        sys.exit(INTERRUPTED_STATUS)


def _serve(
    directory: Path, port: int, cluster: Path, kubeconfig: Path | None, plugins: Path | None, parameters: dict[str, str]
) -> None:
    """Serve until Ctrl-C. `cluster`: the dump; with a kubeconfig, the same file as `kubeconfig`."""
    stack.check_tools(port)
    account = directory / "account"
    shutil.rmtree(account, ignore_errors=True)
    with ExitStack() as cleanup:
        if kubeconfig is not None:
            document = stack.read_kubeconfig(kubeconfig)
        else:
            document = cleanup.enter_context(DumpApiServer(cluster, HOST)).kubeconfig()
        cleanup.callback(stack.keep_log, account)
        with _step("emulator: starts"):
            emulator = cleanup.enter_context(Emulator(account, port=port))
        if plugins is not None:
            with _step("plugins: package and publish"):
                parameters = parameters | layer.publish_plugins(emulator.client("lambda"), plugins, directory)
        stack.deploy(emulator, document, directory, parameters, _step)
        called = stack.address(emulator)
        stack.start_watcher(emulator)
        with _step("watcher: first publication, up to a minute"):
            stack.wait_until_healthy(called, account)
        with _step("verbs: first calls"):
            stack.start_verbs(called)
        cleanup.callback(stack.remove_files, directory)
        stack.write_files(directory, emulator, called, kubeconfig)
        _summary(called, cluster, directory)
        try:
            emulator.wait()
        except KeyboardInterrupt:
            click.echo("stopping")
            return
        raise stack.CannotStart(f"the emulator has ended; its log is in {account}")


def _summary(called: stack.Address, cluster: Path, directory: Path) -> None:
    environment, scheduler = (os.path.relpath(directory / each) for each in (stack.ENVIRONMENT, stack.SCHEDULER))
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
    """Print a line when the step begins, and a line with its duration when it ends."""
    started = time.monotonic()
    click.echo(f"{name} …", err=True)
    yield
    click.echo(f"{name.partition(',')[0]}: {time.monotonic() - started:.0f} s", err=True)


if __name__ == "__main__":
    stack.leave_accounts(os.environ)
    main(prog_name="local-stack")
