"""The options of commands that call Berth with a client certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


def tls_options(when: str = "") -> Callable[[F], F]:
    """Add --tls-client-cert, --tls-client-key and --ca. `when`: the option that they go with, for the help."""

    def decorate(command: F) -> F:
        for option, name, what in (
            ("--ca", "ca", "CA of the server's certificate (PEM); default: the system's."),
            ("--tls-client-key", "key", "private key of the client certificate (PEM)."),
            ("--tls-client-cert", "certificate", "client certificate (PEM)."),
        ):
            text = f"With {when}: {what}" if when else what[0].upper() + what[1:]
            command = click.option(option, name, type=_FILE, help=text)(command)
        return command

    return decorate


def require_key_pair(certificate: Path | None, key: Path | None) -> None:
    """Raises UsageError."""
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-client-cert and --tls-client-key go together")
