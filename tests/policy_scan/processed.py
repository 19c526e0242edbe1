"""The processed template evaluated with given parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.deployment.template import Deployment


def evaluate(processed: dict[str, Any], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the resources that these parameters create. Raises ValueError for an unknown parameter."""
    if unknown := parameters.keys() - processed["Parameters"].keys():
        raise ValueError(f"the template has no parameter {', '.join(sorted(unknown))}")
    deployment = Deployment(processed, **parameters)
    created = {name for kind in _types(processed) for name in deployment.resources(kind)}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {
            name: {part: deployment.value(value) for part, value in resource.items() if part != "Condition"}
            for name, resource in processed["Resources"].items()
            if name in created
        },
    }


def _types(processed: dict[str, Any]) -> set[str]:
    return {resource["Type"] for resource in processed["Resources"].values()}
