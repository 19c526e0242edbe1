"""--plugins DIR: the directory with the package `berth_plugins`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import invalidate_caches
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

NAME_PARENT = "name the directory that the package is in: docs/how-to/custom-plugin.md"
"""What to do where there is no package."""


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
