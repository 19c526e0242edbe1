"""A stack deployed and deleted by somebody who may do what docs/deployer-policy.json says, and what stays of it.

The emulator looks at the rights for what is asked of CloudFormation and S3, not at those for what CloudFormation then
does with each resource: these are held against the policy in test_deployer_policy.py.

The tests are one story on one stack, in their order.
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
from tests.deployment.template import TEMPLATE, read_template

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
        self._credentials = {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        }

    def deploy(self, template: Path, parameters: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """With a bucket of its own: that of SAM demands TLS, which the emulator has not."""
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
            self._credentials["AWS_ACCESS_KEY_ID"],
            self._credentials["AWS_SECRET_ACCESS_KEY"],
            region_name=REGION,
        )
        return session.client(service, endpoint_url=self._emulator.endpoint_url)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    if not sam.COMMAND.exists():
        pytest.skip("sam and the emulator are not set up: run `make tools`")
    with Emulator(tmp_path_factory.mktemp("deployed-deletion") / "account") as emulator:
        emulator.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        yield emulator


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, emulator: Emulator) -> Path:
    return sam.build(tmp_path_factory.mktemp("build") / "build", sam.Machine.this())


@pytest.fixture(scope="module")
def parameters(emulator: Emulator) -> dict[str, str]:
    """A kubeconfig for whichever parameters name one, in secrets that the stack does not own."""
    secrets = {
        name: emulator.create_secret(name, {})
        for name in read_template()["Parameters"]
        if name.endswith("KubeconfigSecretArn")
    }
    return {"Authentication": "basic", **secrets, **sam.Machine.this().parameters}


@pytest.fixture(scope="module")
def deployer(emulator: Emulator) -> Deployer:
    document = POLICY.read_text()
    for placeholder, value in PLACEHOLDERS.items():
        document = document.replace(placeholder, value)
    return Deployer(emulator, "deployer", document)


@pytest.fixture(scope="module")
def ledger(emulator: Emulator) -> str:
    """By name, of the stack that was deployed."""
    found = emulator.client("cloudformation").describe_stack_resource(
        StackName=sam.STACK_NAME, LogicalResourceId="LedgerTable"
    )
    name: str = found["StackResourceDetail"]["PhysicalResourceId"]
    return name


def test_nobody_else_can_deploy(emulator: Emulator, template: Path, parameters: dict[str, str]) -> None:
    who_am_i = {"Effect": "Allow", "Action": "sts:GetCallerIdentity", "Resource": "*"}
    little = json.dumps({"Version": "2012-10-17", "Statement": [who_am_i]})
    done = Deployer(emulator, "somebody", little).deploy(template, parameters)
    assert done.returncode
    assert "AccessDenied" in done.stdout + done.stderr


def test_the_deployer_can(template: Path, deployer: Deployer, parameters: dict[str, str]) -> None:
    done = deployer.deploy(template, parameters)
    assert not done.returncode, done.stdout + done.stderr


def test_the_stack_s_tags_are_on_what_has_tags(emulator: Emulator) -> None:
    functions, tables = emulator.client("lambda"), emulator.client("dynamodb")
    arns = [each["FunctionArn"] for each in functions.list_functions()["Functions"]]
    assert arns
    assert {functions.list_tags(Resource=arn)["Tags"].get("team") for arn in arns} == {"platform"}
    for name in tables.list_tables()["TableNames"]:
        arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"
        assert {"Key": "team", "Value": "platform"} in tables.list_tags_of_resource(ResourceArn=arn)["Tags"]


def test_names_are_such_as_the_policy_speaks_of(emulator: Emulator) -> None:
    prefix = f"{sam.STACK_NAME}-"
    stack = emulator.client("cloudformation").describe_stack_resources(StackName=sam.STACK_NAME)["StackResources"]
    own = {"AWS::DynamoDB::Table", "AWS::IAM::Role", "AWS::Scheduler::Schedule", "AWS::CloudWatch::Alarm"}
    names = [each["PhysicalResourceId"] for each in stack if each["ResourceType"] in own]
    assert names
    assert all(name.startswith(prefix) for name in names)


def test_deleted_by_the_deployer_it_leaves_the_ledger(emulator: Emulator, deployer: Deployer, ledger: str) -> None:
    stacks = deployer.client("cloudformation")
    stacks.delete_stack(StackName=sam.STACK_NAME)
    emulator.client("cloudformation").get_waiter("stack_delete_complete").wait(
        StackName=sam.STACK_NAME, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    assert _left(emulator) == {"table": [ledger]}


def test_the_ledger_goes_when_it_is_no_longer_protected(emulator: Emulator, ledger: str) -> None:
    tables = emulator.client("dynamodb")
    with pytest.raises(ClientError, match="protect"):
        tables.delete_table(TableName=ledger)
    tables.update_table(TableName=ledger, DeletionProtectionEnabled=False)
    tables.delete_table(TableName=ledger)
    assert _left(emulator) == {}


def _left(emulator: Emulator) -> dict[str, list[str]]:
    """What there is of the kinds that the stack had, by name; what it did not make apart."""
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
