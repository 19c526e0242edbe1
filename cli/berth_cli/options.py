"""Options that several commands have: --stack, --table and --region, --plugins, and those of a client certificate.

Apart from deployed_stack.py, which imports the AWS SDK: a usage error must not wait for that import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import invalidate_caches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

F = TypeVar("F", bound=Callable[..., Any])

REGION_HELP = "AWS region of the stack; default: from the AWS configuration."

NAME_PARENT = "name the directory that the package is in: docs/how-to/custom-plugin.md"
"""What to do where there is no package."""

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


def table_options(output: str, table: str) -> Callable[[F], F]:
    """Add the options to a command. `output`: the stack output that names the table; `table`: its name in help."""

    def decorate(command: F) -> F:
        command = click.option("--region", help=REGION_HELP)(command)
        command = click.option("--table", help=f"Name of the {table} table, instead of --stack.")(command)
        return click.option("--stack", help=f"Name of the stack; its output {output} names the table.")(command)

    return decorate


def require_stack_or_table(stack: str | None, table: str | None) -> None:
    """Raises UsageError."""
    if (stack is None) == (table is None):
        raise click.UsageError("give either --stack NAME or --table NAME")


@contextmanager
def aws_errors() -> Iterator[None]:
    """Errors of AWS within the block, as click.ClickException."""
    from botocore.exceptions import BotoCoreError

    from berth.dynamodb_errors import TableUnavailable
    from berth_cli.deployed_stack import StackUnavailable

    try:
        yield
    except (TableUnavailable, StackUnavailable) as error:
        raise click.ClickException(str(error)) from error
    except BotoCoreError as error:
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error


@contextmanager
def open_table(
    stack: str | None, table: str | None, region: str | None, output: str
) -> Iterator[tuple[DynamoDBClient, str]]:
    """A client and the name of the table, which may be the stack's output. Raises UsageError; within the block errors
    of AWS are click.ClickException."""
    require_stack_or_table(stack, table)
    # Imported here: the AWS SDK is slow to import.
    import boto3

    from berth_cli.deployed_stack import describe

    with aws_errors():
        name = table or describe(stack or "", region).output(output)
        yield boto3.client("dynamodb", region_name=region), name


def use_plugins(_context: click.Context | None, _option: click.Parameter | None, directory: Path | None) -> Path | None:
    """Let Python find the plugins of this directory, before the configuration names them. Raises BadParameter."""
    if directory is None:
        return None
    # Imported here: a command without plugins must not wait for it.
    from berth.scheduling.plugins.custom_plugins.loading import PACKAGE

    if not (directory / PACKAGE).is_dir():
        raise click.BadParameter(f"{directory} has no folder {PACKAGE}; {NAME_PARENT}")
    path = str(directory.resolve())
    if path not in sys.path:
        sys.path.insert(0, path)
        invalidate_caches()
    return directory


def plugins_option(command: F) -> F:
    """Add --plugins. It takes effect when the command line is read; the command does not get it."""
    return click.option(
        "--plugins",
        type=click.Path(path_type=Path),
        callback=use_plugins,
        is_eager=True,
        expose_value=False,
        help="Directory with the package berth_plugins: plugins of your own.",
    )(command)


@dataclass(frozen=True, slots=True)
class TLSFiles:
    """Paths from the command line: client certificate, its key, and the CA of the server."""

    certificate: Path | None = None
    key: Path | None = None
    ca: Path | None = None

    @property
    def given(self) -> bool:
        return any((self.certificate, self.key, self.ca))


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
