"""`berth config`: checks BerthConfiguration documents, applies them to a stack, and rolls them back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from berth.scheduling.configuration.document import Decisions
from berth_cli.configuration.apply import ApplyOptions, Versions, apply_configuration, history_cells
from berth_cli.configuration.document import ValidDocument, error_line, load_document, parse_document, require_valid
from berth_cli.configuration.field_errors import FieldError
from berth_cli.configuration.schema import schema_text
from berth_cli.configuration.warnings import (
    KEPT_ON_STACK,
    ConfigurationWarning,
    configuration_warnings,
    records_warnings,
    source_warnings,
)
from berth_cli.sources.tables import TableNames, tables_options
from berth_cli.terminal.input_files import display_name, read_input
from berth_cli.terminal.options import collected, plugins_option
from berth_cli.terminal.output import Format, echo_table, output_option, render, to_yaml

# The AWS SDK is slow to import, so only the functions that read tables import it: usage errors appear without delay.

F = TypeVar("F", bound=Callable[..., Any])

CHECK_EPILOG = """\b
Examples:
  berth config check examples/configuration.yaml
  berth config check berth.yaml --cluster dump.json
  berth config check berth.yaml --plugins my-plugins
  cat berth.yaml | berth config check - -o json
"""
APPLY_EPILOG = """\b
Examples:
  berth config apply berth.yaml --stack berth-production --dry-run
  berth config apply berth.yaml --stack berth-production
  berth config apply berth.yaml --stack berth-production --stop-counting
  berth config apply berth.yaml --plugins my-plugins --stack berth-production
  berth config apply berth.yaml --stack berth-production --no-wait
  cat berth.yaml | berth config apply - --cache-table berth-cache
"""
ROLLBACK_EPILOG = """\b
Examples:
  berth config rollback --stack berth-production
  berth config rollback --to 3 --stack berth-production --dry-run
"""
NOTHING_APPLIED = (
    "no configuration was applied: the stack's parameter Profile decides; apply one with: berth config apply"
)
HISTORY_HEADER = ("VERSION", "APPLIED", "HASH", "PROFILE", "PLUGINS", "NOTE")


@click.group()
def config() -> None:
    """Check BerthConfiguration documents, apply them to a stack and roll them back."""


@config.command(epilog=CHECK_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@plugins_option
@click.option(
    "--cluster",
    type=click.Path(path_type=Path),
    help="Cluster dump: also warn about resources and labels that no node has, and pods that nearly are gang members.",
)
@click.option("--kubeconfig", type=click.Path(path_type=Path, exists=True), help="Live cluster, instead of --cluster.")
@output_option()
def check(file: Path, cluster: Path | None, kubeconfig: Path | None, output: str) -> None:
    """Validate the BerthConfiguration in FILE.

    Each error names the line, the field, the invalid value, and the allowed values. Warnings name parts of a valid
    document that have no effect. Custom plugins are loaded; `berth plugin check` runs them. `-` reads standard input.

    Exit status: 0 valid, with or without warnings; 1 invalid; 2 file not found or usage error.
    """
    if cluster is not None and kubeconfig is not None:
        raise click.UsageError("give --cluster DUMP or --kubeconfig FILE, not both")
    result, name = parse_document(read_input(file)), display_name(file)
    warnings: list[ConfigurationWarning] = []
    if isinstance(result, ValidDocument):
        warnings += configuration_warnings(result.configuration)
        if source := cluster or kubeconfig:
            warnings += source_warnings(result.configuration, source, live=cluster is None)
    report = _report(result, warnings)
    if output != Format.TABLE:
        click.echo(render({"file": name, **report}, output))
    elif isinstance(result, ValidDocument):
        profiles = "; ".join(
            f"{f'for {scheduler}: ' if scheduler else ''}profile {each['profile']}, plugins "
            f"{', '.join(plugin['name'] for plugin in each['plugins'])}"
            for scheduler, each in {"": report, **report["profiles"]}.items()
        )
        click.echo(f"{name} is valid: {profiles}")
        _echo_warnings(name, result, warnings)
    else:
        for each in result:
            click.echo(error_line(name, each.field, each.message, each.line), err=True)
    sys.exit(0 if isinstance(result, ValidDocument) else 1)


def _report(result: ValidDocument | Sequence[FieldError], warnings: Sequence[ConfigurationWarning]) -> dict[str, Any]:
    """Return the profiles and plugins, or the invalid fields, as a JSON object."""
    if not isinstance(result, ValidDocument):
        return {"valid": False, "errors": result}
    configuration, line = result.configuration, result.source.line

    def described(profile: str) -> dict[str, object]:
        plugins = configuration.composition(profile).plugins
        return {"profile": profile, "plugins": [{"name": each, "weight": weight} for each, weight in plugins.items()]}

    return {
        "valid": True,
        "warnings": [{"line": line(each.path), "field": each.field, "message": each.message} for each in warnings],
        **described(configuration.profile),
        "profiles": {scheduler: described(name) for scheduler, name in configuration.profiles.items()},
    }


def _echo_warnings(name: str, document: ValidDocument, warnings: Iterable[ConfigurationWarning]) -> None:
    for each in warnings:
        line = document.source.line(each.path)
        click.echo(error_line(name, f"warning: {each.field}", each.message, line), err=True)


def apply_options(command: F) -> F:
    """Add the options of apply and rollback; the command gets ApplyOptions as `options`."""
    fields = ("tables", "stop_counting", "dry_run", "skip_trial", "no_wait")
    command = collected("options", ApplyOptions, fields)(command)
    for name, text in (
        ("--no-wait", "Return once the document is stored; some verbs may still use the previous document."),
        ("--skip-trial", "Apply the document without a trial, for example if no verb works."),
        ("--dry-run", "Try the document and print what it would change; do not apply it."),
        ("--stop-counting", "The document counts nothing, although the ledger has counted resources."),
    ):
        command = click.option(name, is_flag=True, help=text)(command)
    return plugins_option(tables_options(command))


@config.command(epilog=APPLY_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@apply_options
def apply(file: Path, options: ApplyOptions) -> None:
    """Apply the BerthConfiguration in FILE to a running stack without a deployment.

    `-` reads standard input. The document is validated. Then each verb's function loads it with the deployed plugins,
    evaluates recent pods with the current and the new document, and the differences are printed. A document is refused
    if a function cannot load it, or if no node passes for any of these pods. After the ledger has counted resources, a
    document that does not count any needs --stop-counting.

    The command waits until every verb uses the document: bind reads it within 10 seconds, and calls that have begun end
    within the httpTimeout, or, without --stack, 30 seconds. With --no-wait it does not wait. The watcher reads the
    document within 15 seconds.

    Exit status: 0 applied, or tried with --dry-run; 1 the document is invalid or refused, or the stack or a table is
    unavailable; 2 usage error.
    """
    options.check()
    loaded = load_document(file)
    name, configuration = display_name(file), loaded.configuration
    # Without a stack, the tables belong to servers, which may have any destination for records.
    no_records = records_warnings(configuration, KEPT_ON_STACK if options.tables.stack else [*Decisions])
    _echo_warnings(name, loaded, (*configuration_warnings(configuration), *no_records))
    if configuration.counting.counts and options.stop_counting:
        raise click.ClickException(f"{name} counts resources: --stop-counting is for one without them")
    from berth_cli.sources.stack import open_tables

    with open_tables(options.tables) as opened:
        apply_configuration(opened, configuration, name, options)


@config.command(epilog="Example: berth config show --stack berth-production > berth.yaml")
@tables_options
@click.option("--version", type=int, help="A version of berth config history, instead of the current one.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def show(tables: TableNames, version: int | None, output: str) -> None:
    """Print the BerthConfiguration that was applied to a stack.

    Exit status: 0 printed; 1 the document does not exist, or the stack or table is unavailable; 2 usage error.
    """
    tables.require("cache")
    from berth_cli.sources.stack import open_tables

    with open_tables(tables) as opened:
        text = opened.store.read() if version is None else Versions.of(opened).numbered(version).document
    if text is None:
        raise click.ClickException(NOTHING_APPLIED)
    click.echo(to_yaml(text) if output == "yaml" else render(orjson.loads(text), output))


@config.command(epilog="Example: berth config history --stack berth-production")
@tables_options
@output_option()
def history(tables: TableNames, output: str) -> None:
    """List the last ten applied documents, the newest first.

    With --stack, version 0 is the configuration that the stack was deployed with.

    Exit status: 0 listed; 1 the stack or table is unavailable; 2 usage error.
    """
    tables.require("cache")
    from berth_cli.sources.stack import open_tables

    with open_tables(tables) as opened:
        rows = Versions.of(opened).rows()
    if output != Format.TABLE:
        click.echo(render(rows, output))
    elif rows:
        echo_table(HISTORY_HEADER, map(history_cells, rows))
    else:
        click.echo(NOTHING_APPLIED)


@config.command(epilog=ROLLBACK_EPILOG)
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

    The command waits until every verb uses the document; with --no-wait only until the document is stored.

    Exit status: 0 applied, or tried with --dry-run; 1 the version is unknown, refused or unavailable; 2 usage error.
    """
    options.check()
    from berth_cli.sources.stack import open_tables

    with open_tables(options.tables) as opened:
        versions = Versions.of(opened)
        found = versions.previous() if version is None else versions.numbered(version)
        name = f"version {found.version}"
        document = require_valid(parse_document(found.document.encode()), name)
        apply_configuration(opened, document.configuration, name, options, f"rollback to {name}")


@config.command(epilog="Example: berth config nodepool berth.yaml --name inference > nodepool.yaml")
@click.argument("file", type=click.Path(path_type=Path))
@plugins_option
@click.option("--name", default="berth", show_default=True, help="Name of the NodePool and of the NodeOverlay.")
def nodepool(file: Path, name: str) -> None:
    """Print Karpenter's NodePools for the BerthConfiguration in FILE.

    They state the labels and annotations that the policy reads, and, if it reserves nodes, a taint. For counted
    resources there is a NodeOverlay. Replace the placeholders before you apply them. `-` reads standard input.

    Exit status: 0 printed, 1 invalid document, 2 file not found or usage error.
    """
    from berth_cli.installation.node_pools import manifests_text

    click.echo(manifests_text(load_document(file).configuration, name), nl=False)


@config.command(epilog="Example: berth config schema > berth.schema.json")
def schema() -> None:
    """Print the JSON Schema of BerthConfiguration documents, for editors and CI checks."""
    click.echo(schema_text(), nl=False)
