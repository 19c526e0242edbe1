"""`berth simulate` as a command, in this process."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from berth_cli.main import main


def run(*arguments: str, stdin: str | None = None) -> Result:
    """Return the output of the command and its exit status."""
    return CliRunner().invoke(main, ["simulate", *arguments], input=stdin, prog_name="berth")


def places(*arguments: str) -> dict[str, str | None]:
    """Return the node of each pod that -o json prints."""
    return {pod["name"]: pod["node"] for pod in json.loads(run(*arguments, "-o", "json").stdout)["pods"]}
