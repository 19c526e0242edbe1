"""Generates docs/reference/template-parameters.md: each parameter of template.yaml, in the console's groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.deployment.template import read_template
from tools.reference.markdown import code, page, paragraph

Template = Mapping[str, Any]

INTRODUCTION = """`sam deploy --guided` and the CloudFormation console ask for these parameters; `samconfig.toml` keeps
them. A parameter without a default must be given. A parameter that a later deployment does not name keeps its value.
[Use SAM commands](../how-to/sam-commands.md) shows how to set them."""


class ParameterUngrouped(Exception):
    """The template's groups and its parameters differ. The message names the parameters."""


def template_parameters(template: Template | None = None) -> str:
    """Return the page. Raises ParameterUngrouped."""
    groups = _groups(read_template() if template is None else template)
    return page("Template parameters", "template.yaml", (INTRODUCTION, *groups))


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
            if name in labels:
                yield f"*{labels[name]}*"
            yield paragraph(template["Parameters"][name]["Description"])
            facts = [*_facts(template["Parameters"][name]), *(("Rule", rule) for rule in rules.get(name, ()))]
            yield "\n".join(f"- {what}: {value}" for what, value in facts)


def _facts(parameter: Template) -> Iterator[tuple[str, str]]:
    if "Default" in parameter:
        yield "Default", "empty" if parameter["Default"] == "" else code(parameter["Default"])
    else:
        yield "Default", "none; required"
    if "AllowedValues" in parameter:
        yield "Allowed values", ", ".join(map(code, parameter["AllowedValues"]))
    if "MinValue" in parameter:
        yield "Range", f"{parameter['MinValue']} to {parameter['MaxValue']}"
    if "MaxLength" in parameter:
        yield "Length", f"up to {parameter['MaxLength']} characters"
    if "ConstraintDescription" in parameter:
        yield "Format", parameter["ConstraintDescription"]


def _rules(template: Template) -> Mapping[str, Sequence[str]]:
    """Return the requirements of the template's rules, by parameter."""
    found: dict[str, list[str]] = {}
    for rule in template.get("Rules", {}).values():
        for assertion in rule["Assertions"]:
            for name in dict.fromkeys(_references(assertion["Assert"])):
                found.setdefault(name, []).append(assertion["AssertDescription"])
    return found


def _references(value: Any) -> Iterator[str]:
    """Yield the parameters that a condition references."""
    if isinstance(value, Mapping):
        if isinstance(value.get("Ref"), str):
            yield value["Ref"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
