"""docs/reference/template-parameters.md: each parameter of template.yaml, in the console's groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tools.reference.markdown import code, page, paragraph

Template = Mapping[str, Any]

INTRODUCTION = """`sam deploy --guided` and the CloudFormation console ask for these parameters; `samconfig.toml` keeps
them. A parameter without a default must be given. A parameter that a later deployment does not name keeps its value.
[Use SAM commands](../how-to/sam-commands.md) shows how to set them."""


class ParameterUngrouped(Exception):
    """The template's groups and its parameters differ; the message names them."""


def template_parameters(path: Path) -> str:
    """The page. Raises ParameterUngrouped."""
    template = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506  # a SafeLoader
    return page("Template parameters", "template.yaml", (INTRODUCTION, *_groups(template)))


def _groups(template: Template) -> Iterator[str]:
    interface = template["Metadata"]["AWS::CloudFormation::Interface"]
    labels = {name: each["default"] for name, each in interface.get("ParameterLabels", {}).items()}
    grouped = [name for group in interface["ParameterGroups"] for name in group["Parameters"]]
    if wrong := set(grouped) ^ template["Parameters"].keys():
        raise ParameterUngrouped(", ".join(sorted(wrong)))
    rules = _rules(template)
    for group in interface["ParameterGroups"]:
        yield f"## {group['Label']['default']}"
        for name in group["Parameters"]:
            yield f"### {name}"
            yield from _parameter(template["Parameters"][name], labels.get(name), rules.get(name, ()))


def _parameter(parameter: Template, label: str | None, rules: Sequence[str]) -> Iterator[str]:
    if label is not None:
        yield f"*{label}*"
    yield paragraph(parameter["Description"])
    facts = [
        f"- Default: {_default(parameter)}",
        *(f"- {name}: {value}" for name, value in _limits(parameter)),
        *(f"- Rule: {rule}" for rule in rules),
    ]
    yield "\n".join(facts)


def _default(parameter: Template) -> str:
    if "Default" not in parameter:
        return "none; required"
    return "empty" if parameter["Default"] == "" else code(parameter["Default"])


def _limits(parameter: Template) -> Iterator[tuple[str, str]]:
    if "AllowedValues" in parameter:
        yield "Allowed values", ", ".join(map(code, parameter["AllowedValues"]))
    if "MinValue" in parameter:
        yield "Range", f"{parameter['MinValue']} to {parameter['MaxValue']}"
    if "MaxLength" in parameter:
        yield "Length", f"up to {parameter['MaxLength']} characters"
    if "ConstraintDescription" in parameter:
        yield "Format", parameter["ConstraintDescription"]


def _rules(template: Template) -> Mapping[str, Sequence[str]]:
    """By parameter, what the template's rules demand where they look at it."""
    found: dict[str, list[str]] = {}
    for rule in template.get("Rules", {}).values():
        for assertion in rule["Assertions"]:
            for name in _references(assertion["Assert"]):
                found.setdefault(name, []).append(assertion["AssertDescription"])
    return found


def _references(value: Any) -> Iterator[str]:
    """The parameters that a condition refers to, each once."""
    if isinstance(value, Mapping):
        if isinstance(value.get("Ref"), str):
            yield value["Ref"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _references(each)


class _Loader(yaml.CSafeLoader):
    """YAML with CloudFormation's short forms: `!Ref X` is read as {"Ref": X}, other functions under their names."""


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {suffix: loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _short_form)
