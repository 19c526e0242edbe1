"""template.yaml after SAM's transform, and what it comes to with given parameters."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.deployment.sam import PROJECT
from tests.deployment.template import TEMPLATE, Deployment

PYTHON = PROJECT / ".tools" / "sam" / "bin" / "python"
PROCESS = PROJECT / "tools" / "sam" / "process_template.py"


def process(template: Path = TEMPLATE) -> dict[str, Any]:
    """As `sam validate` has it transformed; conditions and references are still there."""
    done = subprocess.run(
        [PYTHON, PROCESS, template],
        env={**os.environ, "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"},
        stdout=subprocess.PIPE,
        check=True,
    )
    processed: dict[str, Any] = json.loads(done.stdout)
    return processed


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
