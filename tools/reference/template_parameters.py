"""Generates docs/reference/template-parameters.md: each parameter of template.yaml, in CloudFormation's groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.deployment.template import read_template
from tools.reference.markdown import code, page, table

Template = Mapping[str, Any]

INTRODUCTION = """`sam deploy --guided` and the CloudFormation console ask for these parameters; `samconfig.toml` keeps
them. A parameter without a default must be given. A parameter that a later deployment does not name keeps its value.
[Use SAM commands](../how-to/sam-commands.md) shows how to set them."""


class ParameterUngrouped(Exception):
    """The template's groups lack a parameter, or name an unknown parameter. The message names it."""


def template_parameters(template: Template | None = None) -> str:
    """Return the page. Raises ParameterUngrouped."""
    groups = _groups(read_template() if template is None else template)
    return page("Template parameters", "template.yaml", (INTRODUCTION, *groups))


def _groups(template: Template) -> Iterator[str]:
    interface = template["Metadata"]["AWS::CloudFormation::Interface"]
    grouped = [name for group in interface["ParameterGroups"] for name in group["Parameters"]]
    if wrong := set(grouped) ^ template["Parameters"].keys():
        raise ParameterUngrouped(", ".join(sorted(wrong)))
    for group in interface["ParameterGroups"]:
        yield f"## {group['Label']['default']}"
        rows = [(code(name), *_cells(template["Parameters"][name])) for name in group["Parameters"]]
        yield table(("Parameter", "Description", "Default", "Values"), rows)
    yield "## Rules"
    yield "A deployment that breaks one of these rules is rejected before it begins."
    assertions = (each for rule in template.get("Rules", {}).values() for each in rule["Assertions"])
    yield "\n".join(f"- {each['AssertDescription']}" for each in assertions)


def _cells(parameter: Template) -> tuple[str, str, str]:
    default = parameter.get("Default")
    shown = "required" if default is None else "" if default == "" else code(default)
    values = ", ".join(map(code, parameter.get("AllowedValues", ())))
    if "MinValue" in parameter:
        values = f"{parameter['MinValue']} to {parameter['MaxValue']}"
    return parameter["Description"], shown, values or parameter.get("ConstraintDescription", "")
