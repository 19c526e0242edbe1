"""BerthConfiguration from --config or --profile, with errors that name the field."""

from __future__ import annotations

from pathlib import Path

import click
import yaml
from pydantic import ValidationError

from berth.scheduling.configuration import BerthConfiguration


def load_configuration(config: Path | None, profile: str | None) -> BerthConfiguration:
    """Raises click.ClickException with one line per wrong field."""
    if config is not None and profile is not None:
        raise click.UsageError("--config and --profile exclude each other; name the profile in the document")
    if config is None:
        return _validated({"profile": profile} if profile else {}, "--profile")
    try:
        document = yaml.safe_load(config.read_text())
    except OSError as error:
        raise click.ClickException(f"{config}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{config} is not YAML: {' '.join(str(error).split())}") from error
    return _validated(document, str(config))


def _validated(document: object, where: str) -> BerthConfiguration:
    try:
        return BerthConfiguration.model_validate(document)
    except ValidationError as error:
        lines = [
            f"{where}: {'.'.join(map(str, detail['loc'])) or 'document'}: {detail['msg']}" for detail in error.errors()
        ]
        raise click.ClickException("\n".join(lines)) from error
