"""`berth config check`: is a BerthConfiguration valid, and does each part of it have an effect?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.config.document import ValidDocument, error_line, parse_document
from berth_cli.config.field_errors import FieldError, field_path
from berth_cli.config.warnings import ConfigurationWarning, capacity_warnings, configuration_warnings
from berth_cli.input_files import display_name, read_bytes
from berth_cli.options import plugins_option
from berth_cli.output import Format, output_option, render

EPILOG = """\b
Examples:
  berth config check examples/configuration.yaml
  berth config check berth.yaml --cluster dump.json
  berth config check berth.yaml --plugins my-plugins
  cat berth.yaml | berth config check - -o json
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@plugins_option
@click.option(
    "--cluster",
    type=click.Path(path_type=Path),
    help="Cluster dump: also warn about counted resources that no node has, and check plugins on this cluster.",
)
@output_option()
def check(file: Path, cluster: Path | None, output: str) -> None:
    """Validate the BerthConfiguration in FILE.

    Each error names line and field, the value that was found, what may stand there, and an example. Warnings name parts
    of a valid document that have no effect. Plugins of your own are run as `berth plugin check` does. `-` reads
    standard input.

    Exit status: 0 valid, with or without warnings; 1 invalid; 2 file not found or usage error.
    """
    try:
        text = read_bytes(file)
    except OSError as error:
        raise click.BadParameter(f"{file}: {error.strerror}") from error
    name, result = display_name(file), parse_document(text)
    warnings: list[ConfigurationWarning] = []
    if isinstance(result, ValidDocument):
        warnings = _warnings(result.configuration, cluster)
        plugins = _plugin_findings(result, cluster)
        warnings += plugins.warnings
        result = plugins.errors or result
    if output != Format.TABLE:
        click.echo(render({"file": name, **_document(result, warnings)}, output))
    elif isinstance(result, ValidDocument):
        click.echo(f"{name} is valid: {describe(result.configuration)}")
        for warning in warnings:
            line = result.source.line(warning.path)
            click.echo(error_line(name, f"warning: {warning.field}", warning.message, line), err=True)
    else:
        for each in result:
            click.echo(error_line(name, each.field, each.message, each.line), err=True)
            if each.example:
                click.echo(f"    example: {each.example}", err=True)
    sys.exit(0 if isinstance(result, ValidDocument) else 1)


def _warnings(configuration: BerthConfiguration, cluster: Path | None) -> list[ConfigurationWarning]:
    found = configuration_warnings(configuration)
    if cluster is None:
        return found
    # Imported here: only --cluster needs it.
    from berth_cli.cluster_files.cluster import read_cluster, trim
    from berth_cli.cluster_files.documents import parse_objects
    from berth_cli.input_files import read_input

    objects = [trim(each, configuration.counting) for each in parse_objects(read_input(cluster), str(cluster))]
    return [*found, *capacity_warnings(configuration, read_cluster(objects, str(cluster)).snapshot.nodes.values())]


@dataclass(frozen=True, slots=True)
class _PluginFindings:
    errors: list[FieldError]
    warnings: list[ConfigurationWarning]


def _plugin_findings(document: ValidDocument, cluster: Path | None) -> _PluginFindings:
    """Where the custom plugins of the document break a rule. A slow plugin is a warning."""
    found = _PluginFindings([], [])
    configuration = document.configuration
    if not any(":" in each.name for one in configuration.definitions.values() for each in one.plugins.enabled):
        return found
    # Imported here: most documents name no plugin of the user's own.
    from berth.testing.checks import Rule
    from berth_cli.plugin_checks import check_named, checked_cluster

    for plugin in check_named(configuration, checked_cluster(cluster, configuration)):
        for each in plugin.result.findings:
            if each.rule is Rule.TIME:
                found.warnings.append(ConfigurationWarning(plugin.path, f"{plugin.name}: {each}"))
            else:
                line = document.source.line(plugin.path)
                found.errors.append(FieldError(field_path(plugin.path), f"{plugin.name}: {each}", line))
    return found


def describe(configuration: BerthConfiguration) -> str:
    """One line: the profile and its plugins, then the profiles of individual schedulers."""
    parts = [f"{_describe_profile(configuration, configuration.profile)}"]
    parts += [
        f"for {scheduler}: {_describe_profile(configuration, name)}"
        for scheduler, name in configuration.profiles.items()
    ]
    return "; ".join(parts)


def _describe_profile(configuration: BerthConfiguration, name: str) -> str:
    plugins = configuration.composition(name).plugins
    return f"profile {name}, plugins {', '.join(each.name for each in plugins)}"


def _document(
    result: ValidDocument | Sequence[FieldError], warnings: Sequence[ConfigurationWarning]
) -> dict[str, object]:
    """The profiles and plugins, or the invalid fields."""
    if not isinstance(result, ValidDocument):
        errors = [
            {"line": each.line, "field": each.field, "message": each.message, "example": each.example}
            for each in result
        ]
        return {"valid": False, "errors": errors}
    configuration = result.configuration
    return {
        "valid": True,
        "warnings": [
            {"line": result.source.line(each.path), "field": each.field, "message": each.message} for each in warnings
        ],
        "profile": configuration.profile,
        "plugins": _plugins(configuration, configuration.profile),
        "profiles": {
            scheduler: {"profile": name, "plugins": _plugins(configuration, name)}
            for scheduler, name in configuration.profiles.items()
        },
    }


def _plugins(configuration: BerthConfiguration, name: str) -> list[dict[str, object]]:
    return [{"name": each.name, "weight": each.weight} for each in configuration.composition(name).plugins]
