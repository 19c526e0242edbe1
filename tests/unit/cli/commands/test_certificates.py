"""`berth certificates`: exit status, output and effects in the AWS account."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HTTPHeaders
from click.testing import CliRunner, Result

from berth.authentication.allow_list import parse
from berth_cli.commands.certificates import publish_allow_list
from berth_cli.installation.certificate_directory import CertificateError
from berth_cli.main import main
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
    session = moto_session("s3", "ssm")
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
<StackStatus>CREATE_COMPLETE</StackStatus><Outputs><member><OutputKey>{}</OutputKey><OutputValue>{}</OutputValue>
</member></Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"""


def deploy(account: boto3.Session, output: str, value: str) -> None:
    """CloudFormation has one stack, with one output. (moto's needs a dependency that nothing else does.)"""

    def answer(request: AWSPreparedRequest, **_: object) -> Any:
        body = io.BytesIO(STACKS.format(output, value).encode())
        body.stream = lambda **_: iter([body.getvalue()])  # type: ignore[attr-defined]
        return AWSResponse(request.url, 200, HTTPHeaders(), body)

    events: Any = account.events
    events.register("before-send.cloudformation", answer)


def parameter(account: boto3.Session) -> str:
    """The allow-list of the stack berth."""
    name = f"allow-list-{uuid.uuid4().hex}"
    account.client("ssm").put_parameter(Name=name, Value="# nobody yet", Type="String")
    deploy(account, "AllowListParameterName", name)
    return name


def value(account: boto3.Session, name: str) -> str:
    found: str = account.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    return found


def test_issue_prints_tls_config_without_the_key(issued: Berth, tmp_path: Path) -> None:
    done = issued("issue", "second-scheduler")
    assert done.exit_code == 0
    assert "the scheduler's tlsConfig: {certFile: " in done.stdout
    assert "PRIVATE KEY" not in done.output


def test_upload_prints_uri_and_version_of_the_object(issued: Berth, account: boto3.Session, tmp_path: Path) -> None:
    name = bucket(account, versioned=True)
    done = issued("upload", "--bucket", name, "--key", "berth/ca.pem")
    assert done.exit_code == 0
    uri, version = (line.partition(" = ")[2].strip('"') for line in done.stdout.splitlines())
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


def test_allow_omits_revoked_certificates(issued: Berth, account: boto3.Session) -> None:
    name = parameter(account)
    issued("issue", "second")
    issued("revoke", "second")
    done = issued("allow", "--stack", "berth")
    assert done.exit_code == 0
    [first, _] = json.loads(issued("list", "-o", "json").stdout)
    assert parse(value(account, name)).until == {int(first["serial"], 16): None}


def test_allow_does_not_create_unknown_parameter(issued: Berth, account: boto3.Session) -> None:
    """Or who was revoked would still be let in, by the list that the authorizer reads."""
    deploy(account, "AllowListParameterName", "mistyped")
    done = issued("allow", "--stack", "berth")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "there is no parameter mistyped, which the stack's output AllowListParameterName names" in done.stderr
    made = {found["Name"] for found in account.client("ssm").describe_parameters()["Parameters"]}
    assert "mistyped" not in made


def test_allow_rejects_list_that_exceeds_parameter_size(account: boto3.Session) -> None:
    name = parameter(account)
    with pytest.raises(CertificateError, match="longer than the 4096 bytes"):
        publish_allow_list(account.client("ssm"), name, "a\n" * 2049)
    assert value(account, name) == "# nobody yet"
