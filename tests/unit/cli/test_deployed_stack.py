"""Errors of describing a stack name cause and remedy."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from berth.configuration.store import ConfigurationInvalid
from berth_cli.deployed_stack import DeployedStack, StackUnavailable, describe

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
def test_error_remedy_depends_on_source_of_error(
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
def test_http_timeout_is_the_output(parameters: dict[str, str], outputs: dict[str, str], seconds: str) -> None:
    assert DeployedStack("berth", None, parameters, outputs).http_timeout == seconds


def test_configuration_is_the_profile_of_the_stack() -> None:
    deployed = DeployedStack("berth", None, {"Profile": "managed-resources"}, {})
    assert deployed.configuration().profile == "managed-resources"


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        pytest.param({}, "the stack berth has no parameter Profile; is it a Berth stack?", id="no Berth stack"),
        pytest.param({"Profile": "none"}, "the stack's parameter Profile: ", id="a profile of another release"),
    ],
)
def test_stack_without_a_profile_that_is_known_has_no_configuration(parameters: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigurationInvalid, match=reason):
        DeployedStack("berth", None, parameters, {}).configuration()
