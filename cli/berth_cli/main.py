"""The command's entry point. Commands are imported when they are called, so that `--help` answers at once."""

from __future__ import annotations

import importlib

import click

from berth import __version__

COMMANDS = {
    "demo": "The story of the label-priority policy, on a small cluster in this process.",
    "serve": "Serve the extender's verbs on http://HOST:PORT/scheduler.",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"berth_cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Berth: a Kubernetes scheduler extender without a server."""
