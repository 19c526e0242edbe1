"""Reads a BerthConfiguration from --config or --profile. Errors name the line, the field and the allowed values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid
from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.framework.shipped_profiles import FULL
from berth_cli.configuration.field_errors import FieldError, field_errors, field_path
from berth_cli.terminal import strict_yaml
from berth_cli.terminal.input_files import InvalidInput, display_name, read_input
from berth_cli.terminal.options import plugins_option
from berth_cli.terminal.strict_yaml import YAMLDocument


@dataclass(frozen=True, slots=True)
class ValidDocument:
    """A configuration, and the document that it was read from."""

    configuration: BerthConfiguration
    source: YAMLDocument


def load_configuration(config: Path | None, profile: str | None) -> BerthConfiguration:
    """Load a document, a profile or the defaults. Raises click.ClickException with one line per invalid field."""
    if config is not None and profile is not None:
        raise click.UsageError("--config and --profile exclude each other; name the profile in the document")
    if config is None:
        text = b"{}" if profile is None else f"profile: {json.dumps(profile)}".encode()
        result, source = parse_document(text), "--profile"
        if not isinstance(result, ValidDocument):
            result = [replace(error, line=None) for error in result]
        return require_valid(result, source).configuration
    return load_document(config).configuration


def load_document(file: Path) -> ValidDocument:
    """Load a document; `-` reads standard input. Raises click.ClickException with one line per invalid field."""
    return require_valid(parse_document(read_input(file)), display_name(file))


def parse_document(text: bytes) -> ValidDocument | list[FieldError]:
    """Parse YAML or JSON text into a configuration, or return its errors."""
    try:
        source = strict_yaml.load(text)
    except strict_yaml.InvalidYAML as error:
        return [FieldError(field_path(error.path), str(error), error.line)]
    try:
        # The document uses camelCase names only: Python's field names are not accepted.
        configuration = BerthConfiguration.model_validate(source.value, by_alias=True, by_name=False)
    except ValidationError as error:
        return field_errors(error.errors(), source)
    try:
        ActiveConfiguration.of(configuration)
    except ConfigurationInvalid as error:
        path = _path_of(error.__cause__, configuration)
        return [FieldError(field_path(path), str(error), source.line(path))]
    return ValidDocument(configuration, source)


def _path_of(cause: BaseException | None, configuration: BerthConfiguration) -> tuple[str | int, ...]:
    """Return the path of the failed plugin's name in the first profile in use that enables the plugin."""
    if not isinstance(cause, PluginFailed):
        return ()
    for profile in (configuration.profile, *configuration.profiles.values()):
        if profile in configuration.definitions:
            names = [each.name for each in configuration.definitions[profile].plugins.enabled]
            if cause.plugin in names:
                return "definitions", profile, "plugins", "enabled", names.index(cause.plugin), "name"
    return ()


def error_line(source: str, field: str, message: str, line: int | None) -> str:
    """Format a message about a field of a document: `berth.yaml:3: profile: …`."""
    return f"{source}{'' if line is None else f':{line}'}: {field}: {message}"


def require_valid(result: ValidDocument | Sequence[FieldError], source: str) -> ValidDocument:
    """Return the document. Raises click.ClickException with one line per invalid field."""
    if isinstance(result, ValidDocument):
        return result
    raise click.ClickException("\n".join(error_line(source, each.field, each.message, each.line) for each in result))


F = TypeVar("F", bound=Callable[..., Any])


def weight_option(command: F) -> F:
    """Add --weight."""
    return click.option(
        "--weight",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Weight of the extender in kube-scheduler's configuration.",
    )(command)


def schedulers_option(command: F) -> F:
    """Add --scheduler-name, as `schedulers`."""
    return click.option(
        "--scheduler-name",
        "schedulers",
        multiple=True,
        help=f"Place the pods of this scheduler; default: {DEFAULT_SCHEDULER} and the policy's `profiles`.",
    )(command)


def policy_options(command: F) -> F:
    """Add --profile, --config, --plugins and --weight."""
    command = plugins_option(weight_option(command))
    command = click.option("--config", type=click.Path(path_type=Path), help="BerthConfiguration document (YAML).")(
        command
    )
    return click.option("--profile", help="Name of a built-in profile; default: full, kube-scheduler's own plugins.")(
        command
    )


def read_policy(config: Path | None, profile: str | None = None) -> BerthConfiguration:
    """Read the configuration from the options; without options, kube-scheduler's own rules apply. Raises InvalidInput,
    with one line for each invalid field."""
    try:
        return load_configuration(config, profile if config or profile else FULL)
    except click.UsageError:
        raise
    except click.ClickException as error:
        raise InvalidInput(error.message) from error
