"""The functions of template.yaml, loaded into this process as Lambda loads them: environment first, then the module."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from typing import Any

from berth_cli.routes import FunctionSource

Handler = Callable[[Mapping[str, object], object], Any]


def set_environment(variables: Mapping[str, str]) -> None:
    """What the template's `Environment` is for a deployed function; other BERTH_ variables are removed."""
    for name in [name for name in os.environ if name.startswith("BERTH_")]:
        del os.environ[name]
    os.environ.update(variables)


def load_handler(function: FunctionSource) -> Handler:
    """Import the function's module anew and return its handler. Raises what the module raises at import."""
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
