"""The authorizer's function: its settings, its response to the gateway, and its log line."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import pytest

from berth.authentication.authorizer import BasicAuthorizer
from berth.authentication.outcomes import Decision
from berth.authentication.stores import Wait, wait_to_the_end
from berth.runtime import aws_clients
from berth.runtime.environment import SettingsInvalid
from berth.runtime.http.authorizer_endpoint import AuthorizerEndpoint
from berth.runtime.http.events import WARM_UP_EVENT
from tests.builders.authorizer_events import basic, basic_event
from tests.fakes.credential_stores import InMemoryPasswords
from tests.fakes.log_lines import LogLines
from tests.fakes.moto_account import moto_session

Load = Callable[..., Callable[..., Any]]
BASIC = {"BERTH_AUTHENTICATION": "basic", "BERTH_PASSWORD_SECRET": "the-password"}
SECRET = '{"username": "berth", "password": "hunter2"}'


@pytest.fixture
def account(load_function: Load, monkeypatch: pytest.MonkeyPatch) -> boto3.Session:
    """Replace the AWS account by moto during the test."""
    session = moto_session("secretsmanager")
    monkeypatch.setattr(aws_clients, "SESSION", session._session)
    return session


@pytest.fixture
def secret(account: boto3.Session) -> Iterator[str]:
    client = account.client("secretsmanager")
    client.create_secret(Name="the-password", SecretString=SECRET)
    yield "the-password"
    client.delete_secret(SecretId="the-password", ForceDeleteWithoutRecovery=True)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "BERTH_AUTHENTICATION: Field required"),
        (BASIC | {"BERTH_AUTHENTICATION": "none"}, "BERTH_AUTHENTICATION: Input should be"),
        (BASIC | {"BERTH_AUTHENTICATION": "mtls"}, "BERTH_AUTHENTICATION: Input should be"),
        ({"BERTH_AUTHENTICATION": "basic"}, "BERTH_PASSWORD_SECRET: Field required"),
    ],
)
def test_does_not_start_without_credentials(load_function: Load, variables: Mapping[str, str], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        load_function("authorizer", variables)


def test_authorizes_basic_credentials_with_the_secret(load_function: Load, secret: str) -> None:
    handler = load_function("authorizer", BASIC)
    assert handler(basic_event(basic("berth", "hunter2")), None) == {"isAuthorized": True}
    assert handler(basic_event(basic("berth", "hunter3")), None) == {"isAuthorized": False}


def test_denies_and_counts_every_call_without_a_secret(
    load_function: Load, account: boto3.Session, log_lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    handler = load_function("authorizer", BASIC)
    assert handler(basic_event(basic("berth", "hunter2")), None) == {"isAuthorized": False}
    [line] = log_lines.all()
    assert (line["level"], line["verb"], line["outcome"]) == ("WARNING", "authorizer", "failure-record-unavailable")
    assert line["detail"] == "the password's secret cannot be read: ResourceNotFoundException"
    assert line["Failures"] == [1.0]


@pytest.mark.parametrize("stored", [SECRET, SECRET[:-1], '"hunter2"'])
def test_logs_do_not_contain_credentials(
    load_function: Load, account: boto3.Session, log_lines: LogLines, capsys: pytest.CaptureFixture[str], stored: str
) -> None:
    client = account.client("secretsmanager")
    client.create_secret(Name="the-password", SecretString=stored)
    handler = load_function("authorizer", BASIC)
    for header in (basic("berth", "hunter2"), basic("berth", "hunter22"), "Basic hunter2", "hunter2", "hunter2" * 9999):
        handler(basic_event(header), None)
    client.delete_secret(SecretId="the-password", ForceDeleteWithoutRecovery=True)
    printed = capsys.readouterr()
    everything = log_lines.stream.getvalue() + printed.out + printed.err
    assert everything.count('"message":"authorizer"') == 5
    assert "hunter2" not in everything
    assert base64.b64encode(b"berth:hunter2").decode() not in everything


class Failing(BasicAuthorizer):
    def __init__(self) -> None:
        super().__init__(InMemoryPasswords(SECRET), time.time)

    def decide(self, event: Mapping[str, object], wait: Wait = wait_to_the_end) -> Decision:
        raise ValueError("hunter2")

    def preload(self) -> str:
        raise ValueError("hunter2")


def test_denies_on_unexpected_exception_without_logging_its_message(log_lines: LogLines) -> None:
    assert AuthorizerEndpoint(Failing(), 5.0).handle(basic_event("x")) == {"isAuthorized": False}
    [line] = log_lines.all()
    assert (line["outcome"], line["detail"]) == ("failure-internal", "ValueError")
    assert "hunter2" not in log_lines.stream.getvalue()


def test_warm_up_event_does_not_authorize_a_caller(load_function: Load, secret: str, log_lines: LogLines) -> None:
    handler = load_function("authorizer", BASIC)
    assert handler(WARM_UP_EVENT, None) == {"isAuthorized": False}
    assert log_lines.all() == []


def test_unexpected_exception_of_a_warm_up_is_not_logged(log_lines: LogLines) -> None:
    assert AuthorizerEndpoint(Failing(), 5.0).handle(WARM_UP_EVENT) == {"isAuthorized": False}
    assert log_lines.all() == []
