"""template.yaml as CloudFormation reads it: short forms of intrinsic functions become long forms."""

from __future__ import annotations

import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

NO_VALUE = {"Ref": "AWS::NoValue"}
TEMPLATE = Path(__file__).parents[2] / "template.yaml"

KUBECONFIGS = {
    f"{user}KubeconfigSecretArn": f"arn:aws:secretsmanager:eu-central-1:123456789012:secret:berth/{user}-AbCdEf"
    for user in ("Watcher", "Binder")
}
"""Parameters that name the stack's cluster."""
REQUIRED = {"Authentication": "basic", "Profile": "label-priority"}
"""Parameters without a default."""


class _Loader(yaml.CSafeLoader):
    """`!Ref x` is `{"Ref": x}`, `!GetAtt x` is `{"Fn::GetAtt": x}`."""


def _intrinsic(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, object]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {name: loader.construct_sequence(node, deep=True)}


_Loader.add_multi_constructor("!", _intrinsic)


def read_template() -> dict[str, Any]:
    """Return the whole document, which the caller may change."""
    document: dict[str, Any] = pickle.loads(_pickled())
    return document


@cache
def _pickled() -> bytes:
    """Read the document once: many tests need it, and some of them change it."""
    return pickle.dumps(yaml.load(TEMPLATE.read_text(), _Loader))


def of_type(template: dict[str, Any], resource_type: str) -> dict[str, dict[str, Any]]:
    """Return the `Properties` of the resources of a type by logical id, in the template's order."""
    return {
        logical_id: resource["Properties"]
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == resource_type
    }


def folders_of_functions() -> dict[str, str]:
    """Return the folder of each function's code, by logical id."""
    functions = of_type(read_template(), "AWS::Serverless::Function")
    return {logical_id: properties["CodeUri"].rpartition("/")[2] for logical_id, properties in functions.items()}


def folders_of_routes() -> dict[str, str]:
    """Return the folder of the function that each route of the HTTP API calls."""
    template, folders = read_template(), folders_of_functions()
    uris = {
        name: properties["IntegrationUri"]["Fn::Sub"]
        for name, properties in of_type(template, "AWS::ApiGatewayV2::Integration").items()
    }
    return {
        route["RouteKey"]: folders[_named(uris[_named(route["Target"]["Fn::Sub"])])]
        for route in of_type(template, "AWS::ApiGatewayV2::Route").values()
    }


def _named(substitution: str) -> str:
    """Return the logical id in `integrations/${FilterIntegration}` or `${FilterFunction.Arn}:live`."""
    found = re.search(r"\$\{(\w+)", substitution)
    assert found is not None, substitution
    return found[1]


class Deployment:
    """A template evaluated with these parameters: the conditions, mappings and rules that it uses.

    Adds KUBECONFIGS unless the parameters name a cluster, because a stack without a cluster is rejected.
    """

    def __init__(self, template: dict[str, Any], **parameters: str) -> None:
        self._template = template
        self._parameters = {name: found.get("Default", "") for name, found in template["Parameters"].items()}
        self._parameters |= {"Profile": REQUIRED["Profile"]}
        if not parameters.keys() & {*KUBECONFIGS, "EksCluster"}:
            self._parameters |= KUBECONFIGS
        self._parameters |= parameters

    def resources(self, resource_type: str) -> dict[str, dict[str, Any]]:
        """Return the properties of the resources that are created, by logical id."""
        return {
            logical_id: self.value(resource.get("Properties", {}))
            for logical_id, resource in self._template["Resources"].items()
            if resource["Type"] == resource_type and self._holds(resource.get("Condition"))
        }

    def outputs(self) -> dict[str, Any]:
        """Return the values of the outputs whose condition is true."""
        return {
            name: self.value(output["Value"])
            for name, output in self._template["Outputs"].items()
            if self._holds(output.get("Condition"))
        }

    def failed_assertions(self) -> list[str]:
        """Return the descriptions of the rules' assertions that these parameters violate."""
        return [
            assertion["AssertDescription"]
            for rule in self._template["Rules"].values()
            if self.value(rule.get("RuleCondition", True))
            for assertion in rule["Assertions"]
            if not self.value(assertion["Assert"])
        ]

    def value(self, expression: Any) -> Any:
        """Replace `Fn::If`, `Fn::FindInMap`, `Fn::Equals`, `Fn::Not`, `Fn::And` and references to parameters.

        Members that are `AWS::NoValue` are removed."""
        match expression:
            case {"Ref": name} if name in self._parameters:
                return self._parameters[name]
            case {"Fn::If": [condition, then, otherwise]}:
                return self.value(then if self._holds(condition) else otherwise)
            case {"Fn::FindInMap": [name, first, second]}:
                return self._template["Mappings"][name][str(self.value(first))][second]
            case {"Fn::Equals": [one, other]}:
                return str(self.value(one)) == str(self.value(other))  # a number is text to CloudFormation
            case {"Fn::Not": [condition]}:
                return not self.value(condition)
            case {"Fn::And": conditions}:
                return all(self.value(condition) for condition in conditions)
            case {"Condition": str(name), **rest} if not rest:
                return self._holds(name)
            case dict():
                return self._members(expression)
            case list():
                return [each for each in map(self.value, expression) if each != NO_VALUE]
        return expression

    def _members(self, expression: dict[str, Any]) -> Any:
        match expression:
            case {"Fn::Select": [index, {"Fn::Split": [separator, {"Fn::Sub": str(text)}]}]}:  # a part of a parameter
                return re.sub(r"\$\{(\w+)\}", lambda found: self._parameters[found[1]], text).split(separator)[index]
        found = {key: self.value(value) for key, value in expression.items()}
        return {key: value for key, value in found.items() if value != NO_VALUE}

    def _holds(self, condition: str | None) -> bool:
        return condition is None or bool(self.value(self._template["Conditions"][condition]))
