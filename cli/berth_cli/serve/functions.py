"""The functions of template.yaml, loaded into this process as Lambda loads them: environment first, then the module."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from berth_cli.serve.template_api import FunctionSource

Handler = Callable[[Mapping[str, object], object], Any]


def set_environment(variables: Mapping[str, str]) -> None:
    """What the template's `Environment` is for a deployed function; other BERTH_ variables are removed."""
    for name in [name for name in os.environ if name.startswith("BERTH_")]:
        del os.environ[name]
    os.environ.update(variables)


def load_handler(function: FunctionSource, own: Mapping[str, str] | None = None) -> Handler:
    """Import the function's module anew and return its handler. Raises what the module raises at import.

    `own`: variables that it alone is told, in place of those that all are."""
    with _told(own or {}):
        return _load_handler(function)


@contextmanager
def _told(own: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
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
