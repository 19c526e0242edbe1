"""`berth config show`, `history` and `rollback`: the documents that were applied to a stack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import orjson

from berth_cli.config.apply import ApplyOptions, apply_configuration, apply_options
from berth_cli.config.document import ValidDocument, error_line, parse_document
from berth_cli.output import Format, echo_table, output_option, render, to_yaml
from berth_cli.sources.where import TableNames, tables_options

if TYPE_CHECKING:
    from berth.configuration.store import AppliedVersion
    from berth_cli.sources.stack import OpenTables

NOTHING_APPLIED = (
    "no configuration was applied: the stack's parameter Profile decides; apply one with: berth config apply"
)
DEPLOYED = 0
"""The number of the configuration that decides until one is applied."""
HEADER = ("VERSION", "APPLIED", "HASH", "PROFILE", "PLUGINS", "NOTE")


@click.command(epilog="Example: berth config show --stack berth-production > berth.yaml")
@tables_options
@click.option("--version", type=int, help="A version of berth config history, in place of the one in force.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def show(tables: TableNames, version: int | None, output: str) -> None:
    """Print the BerthConfiguration that was applied to a stack.

    Exit status: 0 printed, 1 no such document or unavailable stack or table, 2 usage error.
    """
    tables.require("cache")
    # Imported here: the AWS SDK is slow to import, and a usage error must not wait for it.
    from berth_cli.sources.stack import open_tables

    with open_tables(tables) as opened:
        text = opened.store.read() if version is None else _version(_versions(opened), version).document
    if text is None:
        raise click.ClickException(NOTHING_APPLIED)
    click.echo(to_yaml(text) if output == "yaml" else render(orjson.loads(text), output))


@click.command(epilog="Example: berth config history --stack berth-production")
@tables_options
@output_option()
def history(tables: TableNames, output: str) -> None:
    """List the last ten documents that were applied, the newest first.

    With --stack, version 0 is the configuration that the stack was deployed with.

    Exit status: 0 listed, 1 unavailable stack or table, 2 usage error.
    """
    tables.require("cache")
    from berth.configuration.store import hash_of
    from berth_cli.sources.stack import open_tables

    with open_tables(tables) as opened:
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
    elif rows:
        echo_table(HEADER, map(_cells, rows))
    else:
        click.echo(NOTHING_APPLIED)


def _cells(row: dict[str, object]) -> tuple[str, ...]:
    version, applied, profile, plugins = (
        str(row[name]) for name in ("version", "appliedAt", "profile", "pluginVersion")
    )
    note = ", ".join(part for part in ("in force" if row["inForce"] else "", str(row["note"])) if part)
    return version, applied, str(row["hash"])[:12], profile, plugins or "-", note


@click.command(
    epilog="""\b
Examples:
  berth config rollback --stack berth-production
  berth config rollback --to 3 --stack berth-production --dry-run
"""
)
@click.option(
    "--to",
    "version",
    type=int,
    help="A version of berth config history; 0 is the one that was deployed.  [default: the last one with another "
    "document]",
)
@apply_options
def rollback(version: int | None, options: ApplyOptions) -> None:
    """Apply an earlier document again, as `berth config apply` does. It becomes the newest version.

    The command ends when every verb decides by the document, or, with --no-wait, when it is stored.

    Exit status: 0 applied, or tried with --dry-run; 1 no such version, refused or unavailable; 2 usage error.
    """
    options.check()
    from berth_cli.sources.stack import open_tables

    with open_tables(options.tables) as opened:
        versions = _versions(opened)
        found = _before(versions, opened.store.read()) if version is None else _version(versions, version)
        name = f"version {found.version}"
        result = parse_document(found.document.encode())
        if not isinstance(result, ValidDocument):
            causes = "\n".join(error_line(name, each.field, each.message, None) for each in result)
            raise click.ClickException(causes)
        content = apply_configuration(opened, result.configuration, name, options, f"rollback to {name}")
    if options.output != Format.TABLE:
        click.echo(render(content, options.output))


def _versions(opened: OpenTables) -> Sequence[AppliedVersion]:
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
        remedy = f"--stack in place of table names knows the one that was deployed, or {remedy}"
    raise click.ClickException(f"there is no earlier version: see berth config history; {remedy}")


def _time(version: AppliedVersion) -> str:
    if not version.applied_at:
        return "deployed" if version.version == DEPLOYED else "unknown"
    return datetime.fromtimestamp(version.applied_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
