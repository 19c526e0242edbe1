"""Loads the functions of the stack into this process as Lambda does: sets the environment, then imports the module."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from berth_cli.configuration.trial import VERB_FUNCTIONS
from berth_cli.terminal.input_files import PROJECT

ROUTES: Mapping[str, str] = {
    **{f"POST /scheduler/{verb}": verb for verb in VERB_FUNCTIONS.values()},
    "GET /healthz": "healthz",
}
"""The folder of each route's function, as in template.yaml."""

Handler = Callable[[Mapping[str, object], object], Any]


def set_environment(variables: Mapping[str, str]) -> None:
    """Set the variables of the template's `Environment`, as Lambda does; remove all other BERTH_ variables."""
    for name in [name for name in os.environ if name.startswith("BERTH_")]:
        del os.environ[name]
    os.environ.update(variables)


def load_handler(folder: str, overrides: Mapping[str, str] | None = None) -> Handler:
    """Import a new copy of the function's module and return its handler. Raises the errors of the import. `overrides`:
    environment variables to change during the import.
    """
    file = PROJECT / "functions" / folder / "app.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_app", file)
    assert spec is not None  # app.py always has a loader
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _environment_overrides(overrides or {}):
        spec.loader.exec_module(module)
    handler: Handler = module.handler
    return handler


@contextmanager
def _environment_overrides(overrides: Mapping[str, str]) -> Iterator[None]:
    previous = {name: os.environ.get(name) for name in overrides}
    os.environ.update(overrides)
    try:
        yield
    finally:
        for name, value in previous.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
