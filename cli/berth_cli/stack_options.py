"""The options --stack, --table and --region of commands that work on one table of a deployed stack, and that table.

Apart from deployed_stack.py, which imports the AWS SDK: a usage error must not wait for that import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

F = TypeVar("F", bound=Callable[..., Any])

REGION_HELP = "AWS region of the stack; default: from the AWS configuration."


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
