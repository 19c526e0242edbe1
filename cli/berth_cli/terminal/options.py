"""Options of several commands: a stack or its tables, --plugins, and a client certificate.

They are not in sources/stack.py, which imports the AWS SDK: usage errors must not wait for that import.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib import invalidate_caches
from pathlib import Path
from typing import Any, TypeVar, cast

import click

F = TypeVar("F", bound=Callable[..., Any])

CONSOLE_PORT = 8090

REGION_HELP = "AWS region of the stack; default: from the AWS configuration."

NAME_PARENT = "name the directory that the package is in: docs/how-to/custom-plugin.md"
"""The remedy if the package does not exist."""

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


def collected(name: str, kind: Callable[..., object], fields: Sequence[str]) -> Callable[[F], F]:
    """Replace the options of these fields by one parameter of the command, `name`."""

    def decorate(command: F) -> F:
        @wraps(command)
        def with_one(*arguments: Any, **values: Any) -> Any:
            return command(*arguments, **{name: kind(*(values.pop(field) for field in fields))}, **values)

        return cast("F", with_one)

    return decorate


def use_plugins(_context: click.Context | None, _option: click.Parameter | None, directory: Path | None) -> Path | None:
    """Add the directory to Python's search path, before the configuration is loaded. Raises BadParameter."""
    if directory is None:
        return None
    # Imported here: commands without plugins must not wait for this import.
    from berth.scheduling.plugins.custom_plugins import PACKAGE

    if not (directory / PACKAGE).is_dir():
        raise click.BadParameter(f"{directory} has no folder {PACKAGE}; {NAME_PARENT}")
    path = str(directory.resolve())
    if path not in sys.path:
        sys.path.insert(0, path)
        invalidate_caches()
    return directory


def plugins_option(command: F) -> F:
    """Add --plugins. It takes effect when the command line is parsed; the command does not get the value."""
    return click.option(
        "--plugins",
        type=click.Path(path_type=Path),
        callback=use_plugins,
        is_eager=True,
        expose_value=False,
        help="Directory with the package berth_plugins: custom plugins.",
    )(command)


@dataclass(frozen=True, slots=True)
class TLSFiles:
    """Paths from the command line: the client certificate, its key, and the server's CA."""

    certificate: Path | None = None
    key: Path | None = None
    ca: Path | None = None


def tls_files_options(*, exist: bool = True, when: str = "") -> Callable[[F], F]:
    """Add --tls-client-cert, --tls-client-key and --ca. The command gets TLSFiles as `files`.

    exist: whether the files must be on this machine. `when`: the option that they need, for the help text.
    """
    path = _FILE if exist else click.Path(path_type=Path)

    def decorate(command: F) -> F:
        command = collected("files", _key_pair, ("certificate", "key", "ca"))(command)
        for option, name, what in (
            ("--ca", "ca", "CA of the server's certificate (PEM); default: the system's."),
            ("--tls-client-key", "key", "private key of the client certificate (PEM)."),
            ("--tls-client-cert", "certificate", "client certificate (PEM)."),
        ):
            text = f"With {when}: {what}" if when else what[0].upper() + what[1:]
            command = click.option(option, name, type=path, help=text)(command)
        return command

    return decorate


def _key_pair(certificate: Path | None, key: Path | None, ca: Path | None) -> TLSFiles:
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-client-cert and --tls-client-key go together")
    return TLSFiles(certificate, key, ca)


_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float | None:
    """Return the seconds of a Go duration such as `1m30s`; None if it is invalid. `0` is valid without a unit."""
    if text == "0":
        return 0.0
    if not text or _PART.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
