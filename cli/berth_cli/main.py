"""The entry point of the `berth` command. Each command is imported when it runs, so that `--help` stays fast."""

from __future__ import annotations

import errno
import importlib
import signal
import sys
import threading
from types import FrameType

import click

from berth import __version__

COMMANDS = {
    "certificates": "Create, rotate, revoke and publish client certificates.",
    "config": "Check, apply and roll back configurations.",
    "console": "Show the cluster as Berth sees it, on a page of this machine.",
    "demo": "Run four policies on small clusters and show where each pod goes.",
    "doctor": "Check an installation, with a remedy for each problem.",
    "explain": "Explain where a pod is, why it is pending, and what would place it.",
    "gangs": "List gangs: pods that are placed all or none.",
    "plugin": "Check and package custom plugins.",
    "policy": "Test a policy, and show what a new one changes.",
    "reservations": "List and rebuild reservations of counted resources.",
    "scheduler-config": "Print the kube-scheduler configuration that calls Berth.",
    "serve": "Run the extender on http://HOST:PORT/scheduler.",
    "simulate": "Place the pods of a cluster dump and explain each placement.",
    "watch": "Run the watcher of a stack, for example in a pod.",
}
"""Maps each command to its line in `berth --help`. The module with the same name in berth_cli.commands defines it."""

INTERRUPTED_STATUS = 130
"""A shell's exit status for SIGINT: 128 + 2."""
TERMINATED_STATUS = 128 + signal.SIGTERM
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class _Terminated(KeyboardInterrupt):
    """Raised on SIGTERM and SIGHUP, which end a command as Ctrl-C does."""


def _end_by_signals() -> None:
    """Make SIGTERM and SIGHUP raise an exception, so that a command releases its resources. By default they end the
    process at once. Signals that the parent ignores stay ignored: nohup ignores SIGHUP."""
    if threading.current_thread() is not threading.main_thread():
        return  # Python sets signal handlers only in the main thread
    handlers = {"SIGTERM": _terminate, "SIGHUP": lambda *_: signal.raise_signal(signal.SIGTERM)}
    for name, handler in handlers.items():
        number = getattr(signal, name, None)  # Windows does not have SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, handler)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


class _LazyGroup(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        """Report Ctrl-C, an unusable file and a failed custom plugin, for any command. click handles a closed pipe."""
        _end_by_signals()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            click.echo("stopped", err=True)
            sys.exit(TERMINATED_STATUS if isinstance(error, _Terminated) else INTERRUPTED_STATUS)
        except OSError as error:
            if error.filename is None and error.errno not in _DISK_FULL:
                raise
            raise click.ClickException(f"{error.filename or 'cannot write the output'}: {error.strerror}") from error
        except Exception as error:
            # The module is imported only if the command has built a plugin.
            plugins = sys.modules.get("berth.scheduling.framework.plugin")
            if plugins is None or not isinstance(error, plugins.PluginFailed):
                raise
            raise click.ClickException(str(error)) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"berth_cli.commands.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the summaries of COMMANDS: the commands' own help would need all their imports."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Berth: Kubernetes placement rules as a scheduler extender on AWS Lambda."""


def kubectl_plugin() -> None:
    """Run the commands as `kubectl berth …`: kubectl finds the program `kubectl-berth` in PATH and runs it."""
    main(prog_name="kubectl berth")
