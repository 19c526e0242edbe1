"""Loads the functions of template.yaml into this process as Lambda does: sets the environment, then imports the
module."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from berth_cli.terminal.input_files import TEMPLATE


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function's code folder and handler, for example `functions/filter` and `app.handler`."""

    logical_id: str
    code: Path
    handler: str


@dataclass(frozen=True, slots=True)
class Api:
    """The functions by route key, for example `POST /scheduler/filter`, and all functions by logical id."""

    routes: Mapping[str, FunctionSource]
    functions: Mapping[str, FunctionSource]


# libyaml's parser if PyYAML has it: ten times as fast, for a file that is read at every start.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CloudFormation(_LOADER):  # type: ignore[misc, valid-type]
    """Reads `!Sub x` and other short-form functions as x, because only the names in them are needed."""


def _construct_untagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    assert isinstance(node, yaml.MappingNode)  # YAML has no other kind of node
    return loader.construct_mapping(node, deep=True)


_CloudFormation.add_multi_constructor("!", _construct_untagged)


def read_template_api(template: Path = TEMPLATE) -> Api:
    """Read the API and the functions of a template."""
    document = yaml.load(template.read_text(), _CloudFormation)  # noqa: S506  a SafeLoader
    default_handler = document["Globals"]["Function"]["Handler"]
    resources: dict[str, dict[str, object]] = document["Resources"]
    functions = {
        name: FunctionSource(name, template.parent / properties["CodeUri"], properties.get("Handler", default_handler))
        for name, properties in _resources_of_type(resources, "AWS::Serverless::Function")
    }
    integrations = {
        name: functions[_referenced_resource(properties["IntegrationUri"])]
        for name, properties in _resources_of_type(resources, "AWS::ApiGatewayV2::Integration")
    }
    routes = {
        properties["RouteKey"]: integrations[_referenced_resource(properties["Target"])]
        for _, properties in _resources_of_type(resources, "AWS::ApiGatewayV2::Route")
    }
    return Api(routes, functions)


def _resources_of_type(resources: dict[str, dict[str, object]], kind: str) -> list[tuple[str, dict[str, str]]]:
    found = []
    for name, resource in resources.items():
        properties = resource.get("Properties")
        if resource["Type"] == kind and isinstance(properties, dict):
            found.append((name, properties))
    return found


def _referenced_resource(substitution: str) -> str:
    """Return the logical id in `integrations/${FilterIntegration}` or `${FilterFunction.Arn}:live`, ignoring
    `${AWS::…}`."""
    found = re.search(r"\$\{(?!AWS::)(\w+)", substitution)
    if found is None:
        raise ValueError(f"{substitution} names no resource")
    return found[1]


Handler = Callable[[Mapping[str, object], object], Any]


def set_environment(variables: Mapping[str, str]) -> None:
    """Set the variables of the template's `Environment`, as Lambda does; remove all other BERTH_ variables."""
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
