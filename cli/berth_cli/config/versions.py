"""`berth config show`, `history`, `diff` and `rollback`: the documents that were applied to a stack."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson
import yaml

from berth_cli.config.apply import ApplyOptions, apply_configuration, no_wait_option
from berth_cli.config.document import ValidDocument, error_line, load_document, parse_document
from berth_cli.config.stack import OpenStack, open_stack, stack_options
from berth_cli.options import plugins_option
from berth_cli.output import Format, output_option, render

if TYPE_CHECKING:
    from berth.configuration.store import AppliedVersion

NOTHING_APPLIED = (
    "no configuration was applied: the stack's parameter Profile decides; apply one with: berth config apply"
)
DEPLOYED = 0
"""The number of the configuration that decides until one is applied."""


@click.command(epilog="Example: berth config show --stack berth-production > berth.yaml")
@stack_options
@click.option("--version", type=int, help="A version of berth config history, in place of the one in force.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def show(
    stack: str | None, table: str | None, region: str | None, ledger_table: str, version: int | None, output: str
) -> None:
    """Print the BerthConfiguration that was applied to a stack.

    Exit status: 0 printed, 1 no such document or unavailable stack or table, 2 usage error.
    """
    with open_stack(stack, table, region, ledger_table) as opened:
        text = _in_force(opened) if version is None else _version(_versions(opened), version).document
    click.echo(_yaml(text) if output == "yaml" else orjson.dumps(orjson.loads(text), option=orjson.OPT_INDENT_2))


@click.command(epilog="Example: berth config history --stack berth-production")
@stack_options
@output_option()
def history(stack: str | None, table: str | None, region: str | None, ledger_table: str, output: str) -> None:
    """List the last ten documents that were applied, the newest first.

    With --stack, version 0 is the configuration that the stack was deployed with.

    Exit status: 0 listed, 1 unavailable stack or table, 2 usage error.
    """
    from berth.configuration.store import hash_of

    with open_stack(stack, table, region, ledger_table) as opened:
        versions, applied = _versions(opened), opened.store.read()
    newest = _newest(versions, applied)
    rows = [
        {
            "version": each.version,
            "appliedAt": _time(each),
            "hash": hash_of(each.document),
            "profile": str(orjson.loads(each.document).get("profile", "label-priority")),
            "inForce": each.version == newest,
            "pluginVersion": each.plugin_version,
            "note": each.note,
        }
        for each in versions
    ]
    if output != Format.TABLE:
        click.echo(render(rows, output))
    elif not rows:
        click.echo(NOTHING_APPLIED)
    else:
        click.echo("\n".join(_table(rows)))


@click.command(
    epilog="""\b
Examples:
  berth config diff berth.yaml --stack berth-production
  berth config diff --version 3 --stack berth-production
"""
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@plugins_option
@stack_options
@click.option("--version", type=int, help="Compare with this version of berth config history, in place of FILE.")
@output_option()
def diff(
    file: Path | None,
    stack: str | None,
    table: str | None,
    region: str | None,
    ledger_table: str,
    version: int | None,
    output: str,
) -> None:
    """Compare the configuration in force with FILE or with a version, as a unified diff.

    -o json and yaml print both documents.

    Exit status: 0 equal, 1 different or unavailable, 2 usage error.
    """
    if (file is None) == (version is None):
        raise click.UsageError("give either FILE or --version N")
    loaded = None if file is None else load_document(file).configuration
    with open_stack(stack, table, region, ledger_table) as opened:
        now = opened.store.read() or ("{}" if opened.deployed is None else opened.deployed.configuration_document)
        if loaded is None:
            other, name = _version(_versions(opened), version or DEPLOYED).document, f"version {version}"
        else:
            other, name = loaded.model_dump_json(by_alias=True, exclude_unset=True), str(file)
    lines = list(
        difflib.unified_diff(_yaml(now).splitlines(), _yaml(other).splitlines(), "in force", name, lineterm="")
    )
    if output != Format.TABLE:
        documents = {"inForce": orjson.loads(now), "other": orjson.loads(other)}
        click.echo(render({"with": name, "equal": not lines, **documents}, output))
    elif lines:
        click.echo("\n".join(lines))
    if lines:
        raise click.exceptions.Exit(1)


@click.command(
    epilog="""\b
Examples:
  berth config rollback --stack berth-production
  berth config rollback --to 3 --stack berth-production --dry-run
"""
)
@plugins_option
@stack_options
@click.option(
    "--to",
    "version",
    type=int,
    help="A version of berth config history; 0 is the one that was deployed.  [default: the last one with another "
    "document]",
)
@click.option("--stop-counting", is_flag=True, help="The version counts nothing, although the ledger counts.")
@click.option("--dry-run", is_flag=True, help="Try the version and print what it would change; do not apply it.")
@click.option("--skip-trial", is_flag=True, help="Apply the version without a trial.")
@no_wait_option
@output_option()
def rollback(
    stack: str | None,
    table: str | None,
    region: str | None,
    ledger_table: str,
    version: int | None,
    stop_counting: bool,
    dry_run: bool,
    skip_trial: bool,
    no_wait: bool,
    output: str,
) -> None:
    """Apply an earlier document again, as `berth config apply` does. It becomes the newest version.

    The command ends when every verb decides by the document, or, with --no-wait, when it is stored.

    Exit status: 0 applied, or tried with --dry-run; 1 no such version, refused or unavailable; 2 usage error.
    """
    if dry_run and (stack is None or skip_trial):
        raise click.UsageError("--dry-run needs --stack, and no --skip-trial: it asks the stack's functions")
    with open_stack(stack, table, region, ledger_table) as opened:
        versions = _versions(opened)
        found = _before(versions, opened.store.read()) if version is None else _version(versions, version)
        name = f"version {found.version}"
        result = parse_document(found.document.encode())
        if not isinstance(result, ValidDocument):
            causes = "\n".join(error_line(name, each.field, each.message, None) for each in result)
            raise click.ClickException(causes)
        is_quiet = output != Format.TABLE
        options = ApplyOptions(
            stop_counting, dry_run, skip_trial, is_quiet, note=f"rollback to {name}", waits=not no_wait
        )
        content = apply_configuration(opened, result.configuration, name, options, time.sleep)
    if is_quiet:
        click.echo(render(content, output))


def _in_force(opened: OpenStack) -> str:
    document = opened.store.read()
    if document is None:
        raise click.ClickException(NOTHING_APPLIED)
    return document


def _versions(opened: OpenStack) -> Sequence[AppliedVersion]:
    """The history, and at its end the deployed configuration, if it is known."""
    # Imported here: a usage error is answered without it.
    from berth.configuration.store import AppliedVersion

    if opened.deployed is None:
        return opened.store.history()
    return [
        *opened.store.history(),
        AppliedVersion(DEPLOYED, opened.deployed.configuration_document, 0.0, "the stack's parameter Profile"),
    ]


def _version(versions: Sequence[AppliedVersion], number: int) -> AppliedVersion:
    for each in versions:
        if each.version == number:
            return each
    kept = ", ".join(str(each.version) for each in versions) or "none"
    raise click.ClickException(f"there is no version {number}; kept are: {kept}; see berth config history")


def _newest(versions: Sequence[AppliedVersion], document: str | None) -> int:
    """The newest version with this document. Where none was applied it is the deployed one."""
    return next((each.version for each in versions if each.document == document), DEPLOYED)


def _before(versions: Sequence[AppliedVersion], document: str | None) -> AppliedVersion:
    """The newest version before the one in force that has another document."""
    newest = _newest(versions, document)
    for each in versions:
        if each.version < newest and each.document != document:
            return each
    remedy = "apply another document with: berth config apply"
    if not any(each.version == DEPLOYED for each in versions):
        remedy = f"--stack in place of --table knows the one that was deployed, or {remedy}"
    raise click.ClickException(f"there is no earlier version: see berth config history; {remedy}")


def _yaml(document: str) -> str:
    return yaml.safe_dump(orjson.loads(document), sort_keys=False).rstrip()


def _time(version: AppliedVersion) -> str:
    if not version.applied_at:
        return "deployed" if version.version == DEPLOYED else "unknown"
    return datetime.fromtimestamp(version.applied_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _table(rows: Sequence[dict[str, object]]) -> Iterator[str]:
    cells = [("VERSION", "APPLIED", "HASH", "PROFILE", "PLUGINS", "NOTE")]
    cells += [
        (
            str(each["version"]),
            str(each["appliedAt"]),
            str(each["hash"])[:12],
            str(each["profile"]),
            str(each["pluginVersion"]) or "-",
            ", ".join(part for part in ("in force" if each["inForce"] else "", str(each["note"])) if part),
        )
        for each in rows
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(6)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
