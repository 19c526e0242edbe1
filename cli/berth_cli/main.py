"""The command's entry point. Commands are imported when they are called, so that `--help` answers at once."""

from __future__ import annotations

import errno
import importlib
import sys
from dataclasses import dataclass

import click

from berth import __version__


@dataclass(frozen=True, slots=True)
class _Command:
    """module: the one that has it, under its own name."""

    module: str
    summary: str


COMMANDS = {
    "certificates": _Command(
        "berth_cli.certificates.command", "Create, rotate, revoke and publish client certificates."
    ),
    "config": _Command("berth_cli.config.command", "Check or apply a configuration, or print its JSON Schema."),
    "demo": _Command("berth_cli.demo.command", "Run three policies on small clusters and show where each pod goes."),
    "doctor": _Command("berth_cli.doctor.command", "Check an installation, with a remedy for each problem."),
    "reservations": _Command(
        "berth_cli.reservations.command", "List, release and rebuild reservations of counted resources."
    ),
    "scheduler-config": _Command(
        "berth_cli.scheduler_config.command", "Print the kube-scheduler configuration that calls Berth."
    ),
    "serve": _Command("berth_cli.serve.command", "Run the extender on http://HOST:PORT/scheduler."),
    "simulate": _Command("berth_cli.simulate.command", "Place the pods of a cluster dump and explain each placement."),
}


ENDED_BY_CTRL_C = 130
"""As a shell says it: 128 and SIGINT."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class _Lazy(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        """What can end any command: Ctrl-C, and no room for what it prints (a closed pipe is click's)."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            sys.exit(ENDED_BY_CTRL_C)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise click.ClickException(f"what is printed or written does not fit: {error.strerror}") from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name].module), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Without a look at the commands themselves: that would import them all."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in self.list_commands(ctx)])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Berth: a Kubernetes scheduler extender without a server."""
