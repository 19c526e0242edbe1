"""Policies of the processed template, judged by `@cloud-copilot/iam-simulate` (`tools/iam_simulate`)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from .sam import PROJECT

INSTALLED = PROJECT / ".tools" / "iam_simulate"
SCRIPT = PROJECT / "tools" / "iam_simulate" / "simulate.mjs"
ACCOUNT, REGION, STACK = "123456789012", "eu-central-1", "one"
ALLOWED = "Allowed"


@dataclass(frozen=True)
class Request:
    """One action of a role on a resource. leading_key: None where a request has none."""

    role: str
    action: str
    resource: str
    leading_key: str | None = None

    @property
    def context(self) -> Mapping[str, list[str]]:
        """The condition keys that AWS fills in."""
        return {} if self.leading_key is None else {"dynamodb:LeadingKeys": [self.leading_key]}


def simulate(requests: Sequence[Request], policies: Mapping[str, Sequence[Any]]) -> list[str]:
    """The decision of each. policies: the documents of each role. Skips the test where the simulator is missing."""
    if shutil.which("node") is None:
        pytest.skip("the policy simulator needs Node.js")
    if not (INSTALLED / ".ready").exists():
        pytest.skip("the policy simulator is not installed: make tools, with npm")
    given = [{**asdict(each), "context": each.context, "policies": policies[each.role]} for each in requests]
    answer = subprocess.run(
        ["node", SCRIPT, INSTALLED], input=json.dumps(given).encode(), stdout=subprocess.PIPE, check=True
    )
    decisions: list[str] = json.loads(answer.stdout)
    assert len(decisions) == len(requests)
    return decisions


def documents(role: Mapping[str, Any]) -> list[Any]:
    """The policies of a role in the processed template, with the names that CloudFormation would put in."""
    return [_resolved(policy["PolicyDocument"]) for policy in role["Policies"]]


def table(logical_id: str) -> str:
    """The ARN of a table of the stack."""
    return _arn("dynamodb", f"table/{STACK}-{logical_id}")


def _arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def _resolved(value: Any) -> Any:
    match value:
        case {"Fn::GetAtt": str(name)} | {"Ref": str(name)}:
            return _attribute(name)
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return _attribute(f"{name}.{attribute}")
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}]+)\}", lambda found: _attribute(found[1]), text)
        case {"Fn::Join": [str(separator), parts]}:
            return separator.join(map(str, map(_resolved, parts)))
        case dict():
            return {key: _resolved(each) for key, each in value.items()}
        case list():
            return list(map(_resolved, value))
    return value


_PSEUDO = {"AWS::Partition": "aws", "AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::StackName": STACK}


def _attribute(name: str) -> str:
    logical_id = name.partition(".")[0]
    if name in _PSEUDO:
        return _PSEUDO[name]
    if logical_id.endswith("Table"):
        return table(logical_id)
    if "Secret" in logical_id:
        return _arn("secretsmanager", f"secret:{STACK}-{logical_id}-AbCdEf")
    if logical_id.endswith("Aliaslive"):
        return _arn("lambda", f"function:{STACK}-{logical_id.removesuffix('Aliaslive')}:live")
    if logical_id.endswith("Function"):
        return _arn("lambda", f"function:{STACK}-{logical_id}")
    raise ValueError(f"no ARN is known for {name}")
