"""`berth certificates`: exit status, output and effects in the AWS account."""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HTTPHeaders
from click.testing import CliRunner, Result

from berth.authentication.allow_list import AllowList
from berth.authentication.dynamodb_allow_list import DynamoDBAllowList
from berth_cli.main import main
from tests.builders.tables import create_cache_table
from tests.deployment.template import read_template
from tests.fakes.moto_account import moto_session

Berth = Callable[..., Result]


@pytest.fixture
def berth(tmp_path: Path) -> Berth:
    def run(*arguments: str, directory: str = "certificates") -> Result:
        return CliRunner().invoke(
            main, ["certificates", *arguments, "--directory", str(tmp_path / directory)], prog_name="berth"
        )

    return run


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> boto3.Session:
    session = moto_session("s3", "dynamodb")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", session)
    return session


@pytest.fixture
def issued(berth: Berth) -> Berth:
    for arguments in (("init", "my-cluster"), ("issue", "scheduler")):
        assert berth(*arguments).exit_code == 0
    return berth


def bucket(account: boto3.Session, *, versioned: bool) -> str:
    name = f"bucket-{uuid.uuid4().hex}"
    client: Any = account.client("s3")
    client.create_bucket(Bucket=name)
    if versioned:
        client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


STACKS = """<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult>
<Stacks><member><StackName>berth</StackName><CreationTime>2026-03-01T12:00:00Z</CreationTime>
<StackStatus>CREATE_COMPLETE</StackStatus><Parameters><member><ParameterKey>Authentication</ParameterKey>
<ParameterValue>{}</ParameterValue></member></Parameters><Outputs><member><OutputKey>CacheTableName</OutputKey>
<OutputValue>{}</OutputValue></member></Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"""


def deploy(account: boto3.Session, authentication: str, table: str) -> None:
    """Let CloudFormation return one stack with one output. (moto's CloudFormation needs another dependency.)"""

    def answer(request: AWSPreparedRequest, **_: object) -> Any:
        body = io.BytesIO(STACKS.format(authentication, table).encode())
        body.stream = lambda **_: iter([body.getvalue()])  # type: ignore[attr-defined]
        return AWSResponse(request.url, 200, HTTPHeaders(), body)

    events: Any = account.events
    events.register("before-send.cloudformation", answer)


@pytest.fixture
def allow_list(account: boto3.Session) -> Iterator[DynamoDBAllowList]:
    name, client = f"cache-{uuid.uuid4().hex}", account.client("dynamodb")
    create_cache_table(client, name)
    deploy(account, "mtls", name)
    yield DynamoDBAllowList(client, name)
    client.delete_table(TableName=name)


def test_issue_prints_tls_config_without_the_key(issued: Berth, tmp_path: Path) -> None:
    done = issued("issue", "second-scheduler")
    assert done.exit_code == 0
    assert "the scheduler's tlsConfig: {certFile: " in done.stdout
    assert "PRIVATE KEY" not in done.output


def test_upload_prints_uri_and_version_of_the_object(issued: Berth, account: boto3.Session, tmp_path: Path) -> None:
    name = bucket(account, versioned=True)
    done = issued("upload", "--bucket", name, "--key", "berth/ca.pem")
    assert done.exit_code == 0
    name_of_parameter, _, value = done.stdout.strip().partition(" = ")
    assert re.fullmatch(read_template()["Parameters"][name_of_parameter]["AllowedPattern"], value.strip('"'))
    uri, _, version = value.strip('"').partition("?versionId=")
    found = account.client("s3").get_object(Bucket=name, Key="berth/ca.pem", VersionId=version)
    assert uri == f"s3://{name}/berth/ca.pem"
    assert found["Body"].read() == (tmp_path / "certificates" / "ca.crt").read_bytes()


def test_upload_joins_two_authorities_without_their_keys(
    berth: Berth, issued: Berth, account: boto3.Session, tmp_path: Path
) -> None:
    berth("init", "my-cluster", directory="next")
    name = bucket(account, versioned=True)
    issued("upload", "--bucket", name, "--directory", str(tmp_path / "next"))
    body = account.client("s3").get_object(Bucket=name, Key="truststore.pem")["Body"].read()
    assert body.count(b"BEGIN CERTIFICATE") == 2
    assert b"PRIVATE" not in body


def test_upload_rejects_bucket_without_versioning(issued: Berth, account: boto3.Session) -> None:
    done = issued("upload", "--bucket", bucket(account, versioned=False))
    assert done.exit_code == 1
    assert "has no versioning" in done.stderr
    assert "aws s3api put-bucket-versioning" in done.stderr


def test_allow_omits_revoked_certificates(issued: Berth, allow_list: DynamoDBAllowList) -> None:
    issued("issue", "second")
    issued("revoke", "second")
    done = issued("allow", "--stack", "berth")
    assert done.exit_code == 0
    [first, _] = json.loads(issued("list", "-o", "json").stdout)
    assert allow_list.read().until.keys() == {int(first["serial"], 16)}


def test_allow_empties_the_list_after_the_last_revocation(issued: Berth, allow_list: DynamoDBAllowList) -> None:
    issued("allow", "--stack", "berth")
    issued("revoke", "scheduler")
    assert issued("allow", "--stack", "berth").exit_code == 0
    assert allow_list.read() == AllowList()


@pytest.mark.parametrize(
    ("authentication", "message"),
    [
        pytest.param("basic", "berth has no allow-list: its parameter Authentication is not mtls", id="basic"),
        pytest.param("mtls", "node cache table mistyped: the table does not exist", id="missing table"),
    ],
)
def test_allow_fails_for_stack_without_allow_list(
    issued: Berth, account: boto3.Session, authentication: str, message: str
) -> None:
    """Otherwise the command would succeed although the functions still accept the revoked certificates."""
    deploy(account, authentication, "mistyped")
    done = issued("allow", "--stack", "berth")
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
