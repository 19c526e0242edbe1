"""Deployment and deletion of a stack by a user with docs/deployer-policy.json, and what remains of it.

The emulator checks permissions for calls to CloudFormation and S3, not for the calls that CloudFormation makes for each
resource: test_deployer_policy.py compares these with the policy.

The tests run in order on one stack.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.deployment import sam
from tests.deployment.emulator import REGION, Emulator
from tests.deployment.template import REQUIRED, TEMPLATE, read_template

pytestmark = pytest.mark.build

ACCOUNT = "000000000000"
BUCKET = "code"
POLICY = TEMPLATE.parent / "docs/deployer-policy.json"
PLACEHOLDERS = {
    "TRUSTSTORE_BUCKET": "truststores",
    "TABLE_KEY": "none",
    "BUCKET": BUCKET,
    "STACK": sam.STACK_NAME,
    "ACCOUNT": ACCOUNT,
    "REGION": REGION,
}


class Deployer:
    """A user of the account whose only policy is the document."""

    def __init__(self, emulator: Emulator, name: str, document: str) -> None:
        users = emulator.client("iam")
        users.create_user(UserName=name)
        users.put_user_policy(UserName=name, PolicyName="deployer", PolicyDocument=document)
        key = users.create_access_key(UserName=name)["AccessKey"]
        self._emulator = emulator
        self._credentials = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}

    def deploy(self, template: Path, parameters: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Deploy with a bucket of the test: SAM's bucket requires TLS, which the emulator does not offer."""
        given = template.with_suffix(".deployer.yaml")
        given.write_text(json.dumps(dict(parameters)))
        return subprocess.run(
            [
                sam.COMMAND,
                "deploy",
                f"--template-file={template}",
                f"--stack-name={sam.STACK_NAME}",
                f"--s3-bucket={BUCKET}",
                f"--s3-prefix={sam.STACK_NAME}",
                "--capabilities=CAPABILITY_IAM",
                "--tags=team=platform",
                "--no-progressbar",
                f"--parameter-overrides=file://{given}",
            ],
            cwd=template.parent,
            env={**self._emulator.environment(), **self._credentials, **sam.QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def client(self, service: str) -> Any:
        session = boto3.Session(
            self._credentials["AWS_ACCESS_KEY_ID"], self._credentials["AWS_SECRET_ACCESS_KEY"], region_name=REGION
        )
        return session.client(service, endpoint_url=self._emulator.endpoint_url)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    if not sam.COMMAND.exists():
        pytest.skip("sam and ministack are not installed: make tools")
    with Emulator(tmp_path_factory.mktemp("deployed-deletion") / "account") as emulator:
        emulator.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        yield emulator


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, emulator: Emulator) -> Path:
    return sam.build(tmp_path_factory.mktemp("build") / "build", sam.Machine.this())


@pytest.fixture(scope="module")
def parameters(emulator: Emulator) -> dict[str, str]:
    """Return the parameters, with a kubeconfig in a secret outside the stack for each parameter that names one."""
    secrets = {
        name: emulator.create_secret(name, {})
        for name in read_template()["Parameters"]
        if name.endswith("KubeconfigSecretArn")
    }
    return {**REQUIRED, **secrets, **sam.Machine.this().parameters}


@pytest.fixture(scope="module")
def deployer(emulator: Emulator) -> Deployer:
    document = POLICY.read_text()
    for placeholder, value in PLACEHOLDERS.items():
        document = document.replace(placeholder, value)
    return Deployer(emulator, "deployer", document)


@pytest.fixture(scope="module")
def ledger(emulator: Emulator) -> str:
    found = emulator.client("cloudformation").describe_stack_resource(
        StackName=sam.STACK_NAME, LogicalResourceId="LedgerTable"
    )
    name: str = found["StackResourceDetail"]["PhysicalResourceId"]
    return name


def test_user_without_the_policy_cannot_deploy(emulator: Emulator, template: Path, parameters: dict[str, str]) -> None:
    caller_identity = {"Effect": "Allow", "Action": "sts:GetCallerIdentity", "Resource": "*"}
    minimal = json.dumps({"Version": "2012-10-17", "Statement": [caller_identity]})
    done = Deployer(emulator, "other-user", minimal).deploy(template, parameters)
    assert done.returncode
    assert "AccessDenied" in done.stdout + done.stderr


def test_user_with_deployer_policy_can_deploy(template: Path, deployer: Deployer, parameters: dict[str, str]) -> None:
    done = deployer.deploy(template, parameters)
    assert not done.returncode, done.stdout + done.stderr


def test_functions_and_tables_have_the_stack_tags(emulator: Emulator) -> None:
    functions, tables = emulator.client("lambda"), emulator.client("dynamodb")
    arns = [each["FunctionArn"] for each in functions.list_functions()["Functions"]]
    assert arns
    assert {functions.list_tags(Resource=arn)["Tags"].get("team") for arn in arns} == {"platform"}
    for name in tables.list_tables()["TableNames"]:
        arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"
        assert {"Key": "team", "Value": "platform"} in tables.list_tags_of_resource(ResourceArn=arn)["Tags"]


def test_physical_names_match_the_deployer_policy(emulator: Emulator) -> None:
    prefix = f"{sam.STACK_NAME}-"
    stack = emulator.client("cloudformation").describe_stack_resources(StackName=sam.STACK_NAME)["StackResources"]
    own = {"AWS::DynamoDB::Table", "AWS::IAM::Role", "AWS::Scheduler::Schedule", "AWS::CloudWatch::Alarm"}
    names = [each["PhysicalResourceId"] for each in stack if each["ResourceType"] in own]
    assert names
    assert all(name.startswith(prefix) for name in names)


def test_deletion_by_the_deployer_leaves_only_the_ledger(emulator: Emulator, deployer: Deployer, ledger: str) -> None:
    stacks = deployer.client("cloudformation")
    stacks.delete_stack(StackName=sam.STACK_NAME)
    emulator.client("cloudformation").get_waiter("stack_delete_complete").wait(
        StackName=sam.STACK_NAME, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    assert _remaining(emulator) == {"table": [ledger]}


def test_ledger_can_be_deleted_after_its_protection_is_turned_off(emulator: Emulator, ledger: str) -> None:
    tables = emulator.client("dynamodb")
    with pytest.raises(ClientError, match="protect"):
        tables.delete_table(TableName=ledger)
    tables.update_table(TableName=ledger, DeletionProtectionEnabled=False)
    tables.delete_table(TableName=ledger)
    assert _remaining(emulator) == {}


def _remaining(emulator: Emulator) -> dict[str, list[str]]:
    """Return the names of the remaining resources of the stack, by kind."""
    found = {
        "table": emulator.client("dynamodb").list_tables()["TableNames"],
        "function": [each["FunctionName"] for each in emulator.client("lambda").list_functions()["Functions"]],
        "layer": [each["LayerName"] for each in emulator.client("lambda").list_layers()["Layers"]],
        "log group": [each["logGroupName"] for each in emulator.client("logs").describe_log_groups()["logGroups"]],
        "role": [each["RoleName"] for each in emulator.client("iam").list_roles()["Roles"]],
        "alarm": [each["AlarmName"] for each in emulator.client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "schedule": [each["Name"] for each in emulator.client("scheduler").list_schedules()["Schedules"]],
        "secret": [
            each["Name"]
            for each in emulator.client("secretsmanager").list_secrets()["SecretList"]
            if "PasswordSecret" in each["Name"]
        ],
        "api": [each["ApiId"] for each in emulator.client("apigatewayv2").get_apis()["Items"]],
    }
    return {kind: names for kind, names in found.items() if names}
