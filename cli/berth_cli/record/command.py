"""`berth record`: the decisions of a deployed stack, with the states that they were made on, into a file."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import click

from berth_cli.config.document import load_configuration
from berth_cli.options import aws_errors, plugins_option, require_stack_or_table, table_options
from berth_cli.recording.options import PseudonymOptions, new_recording, pseudonym_options

SECONDS = 2.0
"""Between two looks at the node cache."""

EPILOG = """\b
Examples:
  berth record monday.rec --stack berth
  berth record monday.rec --stack berth --for 3600
  berth record monday.rec --table berth-cache --config berth.yaml --pseudonyms

\b
Exit status: 0 recorded, 1 the stack or its table cannot be read, 2 usage error.
"""


@click.command(epilog=EPILOG)
@click.argument("recording", type=click.Path(path_type=Path, dir_okay=False))
@table_options("CacheTableName", "cache")
@click.option("--for", "seconds", type=click.FloatRange(min=0), help="Seconds to record.  [default: until Ctrl-C]")
@click.option("--profile", help="Profile of a stack without an applied configuration, with --table.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="BerthConfiguration document (YAML) of a stack without an applied one.",
)
@plugins_option
@pseudonym_options
def record(
    recording: Path,
    stack: str | None,
    table: str | None,
    region: str | None,
    seconds: float | None,
    profile: str | None,
    config: Path | None,
    pseudonyms: bool,
    kept_names: tuple[str, ...],
) -> None:
    """Record the decisions of a deployed stack to a new file for berth replay, until Ctrl-C.

    The stack needs decisions: table in its configuration. Its node cache is followed meanwhile, and the decisions are
    read from the table at the end: until then the states stay in memory, and the file has nothing. You need GetItem and
    Query on the cache table, and cloudformation:DescribeStacks.
    """
    require_stack_or_table(stack, table)
    options = PseudonymOptions(pseudonyms, kept_names)
    options.check(records=True)
    given = load_configuration(config, profile) if config or profile else None
    # Imported here: the AWS SDK is slow to import, and a usage error must not wait for it.
    from berth_cli.record.stack import open_stack

    with aws_errors():
        found = open_stack(stack, table, region, given)
        found.check()
        writer = new_recording(recording, "RECORDING", options, found.configuration, found.notes)
        click.echo(f"recording {found.where}; Ctrl-C ends it", err=True)
        ends = None if seconds is None else time.monotonic() + seconds
        with suppress(KeyboardInterrupt):
            while True:
                found.recording.follow()
                left = SECONDS if ends is None else min(SECONDS, ends - time.monotonic())
                if left <= 0:
                    break
                time.sleep(left)
        written = found.write(writer)
        writer.close()
    click.echo(f"{recording}: {written.decisions} decisions")
    if written.missing:
        click.echo(f"warning: {written.missing} records cannot be replayed: their state is not known", err=True)
