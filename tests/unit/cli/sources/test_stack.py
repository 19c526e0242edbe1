"""A deployed stack: errors name cause and remedy; the configuration in force; the Basic password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationInvalid
from berth_cli.sources.stack import (
    SECRET,
    DeployedStack,
    StackUnavailable,
    basic_credentials,
    configuration_in_force,
    describe,
)
from tests.builders.custom_plugins import FAILS_TO_START, NAMED, installed_plugins
from tests.builders.tables import create_cache_table

ABSENT = ClientError(
    {"Error": {"Code": "ValidationError", "Message": "Stack with id berth does not exist"}}, "DescribeStacks"
)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        pytest.param(ABSENT, "does not exist; are name and region right?", id="CloudFormation has answered"),
        pytest.param(NoRegionError(), "are AWS credentials and region set?", id="no call was made"),
    ],
)
def test_remedy_depends_on_the_cause_of_the_error(
    monkeypatch: pytest.MonkeyPatch, error: BotoCoreError | ClientError, remedy: str
) -> None:
    def client(*_: object, **__: object) -> object:
        raise error

    monkeypatch.setattr(boto3, "client", client)
    with pytest.raises(StackUnavailable) as raised:
        describe("berth")
    assert str(raised.value).startswith("the stack berth cannot be described: ")
    assert str(raised.value).endswith(remedy)


@pytest.mark.parametrize(
    ("parameters", "outputs", "seconds"),
    [
        pytest.param({"HttpTimeoutSeconds": "0"}, {"HttpTimeoutSeconds": "10"}, "10", id="by the size of the cluster"),
        pytest.param({"HttpTimeoutSeconds": "8"}, {}, "8", id="a stack of an earlier release"),
        pytest.param({}, {}, "", id="unknown"),
    ],
)
def test_reads_http_timeout_from_the_output(parameters: dict[str, str], outputs: dict[str, str], seconds: str) -> None:
    assert DeployedStack("berth", None, parameters, outputs).http_timeout == seconds


def test_reads_configuration_from_the_profile_parameter() -> None:
    deployed = DeployedStack("berth", None, {"Profile": "managed-resources"}, {})
    assert deployed.configuration().profile == "managed-resources"


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        pytest.param({}, "the stack berth has no parameter Profile; is it a Berth stack?", id="not a Berth stack"),
        pytest.param({"Profile": "none"}, "the stack's parameter Profile: ", id="a profile of another release"),
    ],
)
def test_error_names_a_missing_or_unknown_profile_of_the_stack(parameters: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigurationInvalid, match=reason):
        DeployedStack("berth", None, parameters, {}).configuration()


TABLE = "configuration-in-force"
STACK = DeployedStack("berth", None, {"Profile": "full"}, {"CacheTableName": TABLE})


@pytest.fixture
def store(dynamodb: DynamoDBClient) -> Iterator[DynamoDBConfigurationStore]:
    create_cache_table(dynamodb, TABLE)
    yield DynamoDBConfigurationStore(dynamodb, TABLE)
    dynamodb.delete_table(TableName=TABLE)


def test_profile_parameter_is_in_force_until_a_document_is_applied(store: DynamoDBConfigurationStore) -> None:
    assert configuration_in_force(STACK).profile == "full"
    store.apply('{"profile": "resource-segregation"}')
    assert configuration_in_force(STACK).profile == "resource-segregation"


def test_error_names_plugin_that_cannot_be_built(store: DynamoDBConfigurationStore, tmp_path: Path) -> None:
    with installed_plugins(tmp_path):
        (tmp_path / "berth_plugins" / "mine.py").write_text(FAILS_TO_START)
        store.apply(NAMED)
        with pytest.raises(StackUnavailable, match=r"^plugin berth_plugins.mine:Passes failed in __init__: .*licence"):
            configuration_in_force(STACK)


class Secrets:
    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803  boto3's name
        assert SecretId == "arn:1"
        return {"SecretString": self._text}


def with_secrets(*arns: str) -> DeployedStack:
    found = DeployedStack("berth", None, {}, {})
    found.__dict__["resources"] = {SECRET: {str(number): arn for number, arn in enumerate(arns)}}
    return found


def test_reads_password_of_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = Secrets('{"username": "a@b", "password": "p:/?#[]@ é%"}')
    monkeypatch.setattr(boto3, "client", lambda *_, **__: secrets)
    found = basic_credentials(with_secrets("arn:1"))
    assert found.in_address("https://berth.example.com/scheduler") == (
        "https://a%40b:p%3A%2F%3F%23%5B%5D%40%20%C3%A9%25@berth.example.com/scheduler"
    )
    assert found.in_address("http://[::1]:8080/scheduler").endswith("@[::1]:8080/scheduler")
    assert "p:" not in repr(found)


@pytest.mark.parametrize(
    ("stack", "text", "message"),
    [
        pytest.param(with_secrets(), "", "has 0 secrets, not one", id="no secret"),
        pytest.param(with_secrets("arn:1", "arn:2"), "", "has 2 secrets, not one", id="two secrets"),
        pytest.param(with_secrets("arn:1"), "hidden", 'arn:1 is not {"username"', id="unexpected content"),
    ],
)
def test_error_does_not_contain_the_secret(
    stack: DeployedStack, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boto3, "client", lambda *_, **__: Secrets(text))
    with pytest.raises(StackUnavailable) as raised:
        basic_credentials(stack)
    assert message in str(raised.value)
    assert "hidden" not in str(raised.value)
