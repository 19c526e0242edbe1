"""template.yaml as CloudFormation understands it: short forms of the intrinsic functions become the long ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

TEMPLATE = Path(__file__).parents[2] / "template.yaml"


class _Loader(yaml.SafeLoader):
    """`!Ref x` is `{"Ref": x}`, `!GetAtt x` is `{"Fn::GetAtt": x}`."""


def _intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, object]:
    name = suffix if suffix == "Ref" else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {name: loader.construct_sequence(node, deep=True)}


_Loader.add_multi_constructor("!", _intrinsic)


def read_template() -> dict[str, Any]:
    """The whole document."""
    document: dict[str, Any] = yaml.load(TEMPLATE.read_text(), _Loader)
    return document


def of_type(template: dict[str, Any], resource_type: str) -> dict[str, dict[str, Any]]:
    """The resources of a type by logical id, in the template's order; each is its `Properties`."""
    return {
        logical_id: resource["Properties"]
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == resource_type
    }
