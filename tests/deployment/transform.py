"""The processed template: template.yaml after the SAM transform, without SAM resource types."""

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
from .template import REQUIRED, read_template

PYTHON = PROJECT / ".tools" / "sam" / "bin" / "python"
TRANSFORM = Path(__file__).with_name("sam_transform.py")
REGION = "eu-central-1"


def transformed(**parameters: str) -> dict[str, Any]:
    """Return the processed template, with conditions and references to parameters; `Deployment` evaluates them.

    Skips the test if sam is not set up.
    """
    if not PYTHON.exists():
        pytest.skip("sam is not installed: make tools")
    found: dict[str, Any] = json.loads(_transform(json.dumps({**REQUIRED, **parameters})))
    return found


@cache
def _transform(parameters: str) -> bytes:
    template = read_template()
    for resource in template["Resources"].values():
        # `sam package` replaces these with the addresses of its uploads.
        for name in {"CodeUri", "ContentUri"} & resource.get("Properties", {}).keys():
            resource["Properties"][name] = "s3://bucket/key"
    translator = _translator()
    assert translator.stdin is not None
    assert translator.stdout is not None
    translator.stdin.write(json.dumps({"template": template, "parameters": json.loads(parameters)}).encode() + b"\n")
    translator.stdin.flush()
    processed = translator.stdout.readline()
    assert processed, f"the transform ended with {translator.wait()}; its stderr says why"
    return processed


@cache
def _translator() -> subprocess.Popen[bytes]:
    """Return the transforming process, one for all templates: its imports take longer than a transform."""
    return subprocess.Popen(
        [PYTHON, "-P", TRANSFORM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"AWS_DEFAULT_REGION": REGION}
    )


def dependencies(resource: dict[str, Any]) -> set[str]:
    """Return the logical ids that the resource refers to, which CloudFormation creates first."""
    return set(_references(resource)) | {*_as_list(resource.get("DependsOn", []))}


def _as_list(found: str | list[str]) -> list[str]:
    return [found] if isinstance(found, str) else found


def _references(value: Any) -> Iterator[str]:
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
                yield from _references(each)
        case list():
            for each in value:
                yield from _references(each)
