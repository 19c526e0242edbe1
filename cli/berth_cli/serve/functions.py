"""Load the functions of template.yaml into this process as Lambda does: set the environment, then import the module."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from berth_cli.serve.template_api import FunctionSource

Handler = Callable[[Mapping[str, object], object], Any]


def set_environment(variables: Mapping[str, str]) -> None:
    """Set the variables that the template's `Environment` sets in Lambda; remove all other BERTH_ variables."""
    for name in [name for name in os.environ if name.startswith("BERTH_")]:
        del os.environ[name]
    os.environ.update(variables)


def load_handler(function: FunctionSource, overrides: Mapping[str, str] | None = None) -> Handler:
    """Import a new copy of the function's module and return its handler. Raises errors of that import.

    `overrides`: variables with other values during this import.
    """
    with _environment_overrides(overrides or {}):
        return _load_handler(function)


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


def _load_handler(function: FunctionSource) -> Handler:
    module_name, handler_name = function.handler.rsplit(".", 1)
    spec = importlib.util.spec_from_file_location(
        f"{function.logical_id}_{module_name}", function.code / f"{module_name}.py"
    )
    if spec is None or spec.loader is None:
        raise FileNotFoundError(function.code)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handler: Handler = getattr(module, handler_name)
    return handler
