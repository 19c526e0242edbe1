"""template.yaml as CloudFormation gets it from the SAM transform: resources of AWS only, with these parameters."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .sam import PROJECT
from .template import read_template

PYTHON = PROJECT / ".tools" / "sam" / "bin" / "python"
TRANSFORM = Path(__file__).with_name("sam_transform.py")
REGION = "eu-central-1"


def transformed(**parameters: str) -> dict[str, Any]:
    """The processed template. Conditions and references to parameters are still in it; see `Deployment` for these.

    Skips the test where sam is not set up.
    """
    if not PYTHON.exists():
        pytest.skip("sam is not installed: make tools")
    found: dict[str, Any] = json.loads(_transform(json.dumps({"Authentication": "basic", **parameters})))
    return found


@cache
def _transform(parameters: str) -> bytes:
    template = read_template()
    for resource in template["Resources"].values():
        # `sam package` puts the addresses of what it has uploaded there.
        for name in {"CodeUri", "ContentUri"} & resource.get("Properties", {}).keys():
            resource["Properties"][name] = "s3://bucket/key"
    return subprocess.run(
        [PYTHON, "-P", TRANSFORM],
        input=json.dumps({"template": template, "parameters": json.loads(parameters)}).encode(),
        check=True,
        stdout=subprocess.PIPE,
        env={"AWS_DEFAULT_REGION": REGION},
    ).stdout


def waits_for(resource: dict[str, Any]) -> set[str]:
    """The logical ids that CloudFormation makes first: those that are named anywhere in the resource."""
    return set(_named(resource)) | {*_listed(resource.get("DependsOn", []))}


def _listed(found: str | list[str]) -> list[str]:
    return [found] if isinstance(found, str) else found


def _named(value: Any) -> Iterator[str]:
    match value:
        case {"Ref": str(name)}:
            yield name
        case {"Fn::GetAtt": [str(name), *_]}:
            yield name
        case {"Fn::GetAtt": str(name)}:
            yield name.partition(".")[0]
        case {"Fn::Sub": str(text)} | {"Fn::Sub": [str(text), _]}:
            yield from re.findall(r"\$\{(\w+)", text)
        case dict():
            for each in value.values():
                yield from _named(each)
        case list():
            for each in value:
                yield from _named(each)
