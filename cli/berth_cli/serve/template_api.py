"""The routes and functions of the HTTP API in template.yaml.

They are read from the template, so that the local server has exactly the routes of the deployed API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from berth_cli.project_files import TEMPLATE


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function's code folder and handler, for example `functions/filter` and `app.handler`."""

    logical_id: str
    code: Path
    handler: str


@dataclass(frozen=True, slots=True)
class Api:
    """Functions by route key, for example `POST /scheduler/filter`, and all functions by logical id."""

    routes: Mapping[str, FunctionSource]
    functions: Mapping[str, FunctionSource]


# In C where PyYAML has it: ten times as fast, for a file that every start reads.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CloudFormation(_LOADER):  # type: ignore[misc, valid-type]
    """Reads `!Sub x` and other short-form functions as x: only the names in them are needed."""


def _construct_untagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    assert isinstance(node, yaml.MappingNode)  # YAML has no fourth kind
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
    """The logical id in `integrations/${FilterIntegration}` or `${FilterFunction.Arn}:live`, ignoring `${AWS::…}`."""
    found = re.search(r"\$\{(?!AWS::)(\w+)", substitution)
    if found is None:
        raise ValueError(f"{substitution} names no resource")
    return found[1]
