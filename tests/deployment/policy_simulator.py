"""Evaluates policies of the processed template with `@cloud-copilot/iam-simulate` (`tools/iam_simulate`)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import pytest

from .sam import PROJECT

INSTALLED = PROJECT / ".tools" / "iam_simulate"
SCRIPT = PROJECT / "tools" / "iam_simulate" / "simulate.mjs"
ACCOUNT, REGION, STACK = "123456789012", "eu-central-1", "one"
APPLICATION = f"{STACK}-ServerlessDeploymentApplication-0A1B2C3D4E5F"
"""The name of CodeDeploy's application, as CloudFormation generates it."""
ALLOWED = "Allowed"
NOT_JUDGED = frozenset({"codedeploy:PutLifecycleEventHookExecutionStatus", "lambda:GetProvisionedConcurrencyConfig"})
"""Actions that the simulator cannot evaluate. It does not know a resource of the first action, but IAM checks one:
CodeDeploy's error names a deployment group. The second action takes an alias or a version; the simulator allows one."""


@dataclass(frozen=True)
class Request:
    """An action of a role on a resource. leading_key, namespace: the condition keys of DynamoDB and CloudWatch, or
    None. Several leading keys: of a batch or a transaction."""

    role: str
    action: str
    resource: str
    leading_key: str | tuple[str, ...] | None = None
    namespace: str | None = None

    @property
    def context(self) -> Mapping[str, list[str]]:
        keys = {"dynamodb:LeadingKeys": self.leading_key, "cloudwatch:namespace": self.namespace}
        return {
            key: [value] if isinstance(value, str) else list(value) for key, value in keys.items() if value is not None
        }


def simulate(requests: Sequence[Request], policies: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return a decision for each request. policies: of each role. Skips the test if the simulator is missing."""
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


def refused(requests: Sequence[Request], policies: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return a line for each request that its role may not make."""
    judged = [each for each in requests if each.action not in NOT_JUDGED]
    decisions = zip(judged, simulate(judged, policies), strict=True)
    lines = [f"{decision}: {each}" for each, decision in decisions if decision != ALLOWED]
    others = [each for each in requests if each.action in NOT_JUDGED]
    return lines + [f"no statement matches: {each}" for each in others if not _matches(each, policies[each.role])]


def _matches(request: Request, policies: Sequence[Any]) -> bool:
    """Return whether a statement allows the action on the resource. For statements without conditions."""
    return any(
        statement["Effect"] == "Allow"
        and request.action in listed(statement["Action"])
        and any(fnmatchcase(request.resource, each) for each in listed(statement["Resource"]))
        for policy in policies
        for statement in policy["Statement"]
    )


def listed(found: str | list[str]) -> list[str]:
    return [found] if isinstance(found, str) else found


def documents(role: Mapping[str, Any]) -> list[Any]:
    """Return the policies of a role in the processed template, with the names that CloudFormation would insert."""
    return [resolved(policy["PolicyDocument"]) for policy in role["Policies"]]


def table(logical_id: str) -> str:
    """Return the ARN of a table of the stack."""
    return arn("dynamodb", f"table/{STACK}-{logical_id}")


def arn(service: str, resource: str) -> str:
    """Return the ARN of a resource in the stack's account."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def resolved(value: Any) -> Any:
    """Return a value of the processed template, with the ARNs and names that CloudFormation would insert."""
    match value:
        case {"Fn::GetAtt": str(name)} | {"Ref": str(name)}:
            return _attribute(name)
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return _attribute(f"{name}.{attribute}")
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}]+)\}", lambda found: _attribute(found[1]), text)
        case {"Fn::Join": [str(separator), parts]}:
            return separator.join(map(str, map(resolved, parts)))
        case dict():
            return {key: resolved(each) for key, each in value.items()}
        case list():
            return list(map(resolved, value))
    return value


_PSEUDO = {"AWS::Partition": "aws", "AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::StackName": STACK}


def _attribute(name: str) -> str:
    logical_id = name.partition(".")[0]
    if name in _PSEUDO:
        return _PSEUDO[name]
    if logical_id.endswith("Table"):
        return table(logical_id)
    if logical_id == "ServerlessDeploymentApplication":
        return APPLICATION
    if "Secret" in logical_id:
        return arn("secretsmanager", f"secret:{STACK}-{logical_id}-AbCdEf")
    if logical_id.endswith("Aliaslive"):
        return arn("lambda", f"function:{STACK}-{logical_id.removesuffix('Aliaslive')}:live")
    if version := re.fullmatch(r"(\w+Function)Version\w+", logical_id):
        return arn("lambda", f"function:{STACK}-{version[1]}:7")
    if logical_id.endswith("Function"):
        return arn("lambda", f"function:{STACK}-{logical_id}")
    raise ValueError(f"no ARN is known for {name}")
