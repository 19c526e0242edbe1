"""The policy of a command that places pods of a dump: its options, and the configuration that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.shipped_profiles import FULL
from berth_cli.config.document import load_configuration
from berth_cli.input_files import InvalidInput
from berth_cli.options import plugins_option

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
    """The configuration that the options name; without options kube-scheduler's own rules. Raises InvalidInput, with
    one line for each invalid field."""
    try:
        return load_configuration(config, profile if config or profile else FULL)
    except click.UsageError:
        raise
    except click.ClickException as error:
        raise InvalidInput(error.message) from error
