"""What the processed template comes to with given parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.deployment.template import Deployment


def resolved(processed: dict[str, Any], parameters: Mapping[str, str]) -> dict[str, Any]:
    """The resources that are made with these parameters. Raises ValueError for a parameter that there is not."""
    if unknown := parameters.keys() - processed["Parameters"].keys():
        raise ValueError(f"the template has no parameter {', '.join(sorted(unknown))}")
    deployment = Deployment(processed, **parameters)
    made = {name for kind in _types(processed) for name in deployment.resources(kind)}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {
            name: {part: deployment.value(value) for part, value in resource.items() if part != "Condition"}
            for name, resource in processed["Resources"].items()
            if name in made
        },
    }


def _types(processed: dict[str, Any]) -> set[str]:
    return {resource["Type"] for resource in processed["Resources"].values()}
