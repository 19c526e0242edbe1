"""Every function with a route checks the client certificate itself under mutual TLS. The tests run the real modules."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from berth.authentication.dynamodb_allow_list import DynamoDBAllowList
from berth.runtime.http import callers
from berth_cli.server.functions import ROUTES
from tests.builders.authorizer_events import certificate_event
from tests.builders.tables import create_cache_table
from tests.fakes.log_lines import LogLines
from tests.fakes.moto_account import moto_session

Load = Callable[..., Callable[..., Any]]
LISTED, OTHER = "1f00000000000001", "2a00000000000002"
TABLE = "caller-check"
MTLS = {"BERTH_AUTHENTICATION": "mtls", "BERTH_CACHE_TABLE": TABLE}


@pytest.fixture
def allow_list(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Store the allow-list in moto, in place of the AWS account."""
    session = moto_session("dynamodb")
    client = session.client("dynamodb")
    create_cache_table(client, TABLE)
    DynamoDBAllowList(client, TABLE).replace(LISTED)
    monkeypatch.setattr(callers, "aws_client", lambda service, config: session.client(service, config=config))
    yield
    client.delete_table(TableName=TABLE)


@pytest.fixture
def handler(load_function: Load, cluster_dump: str, allow_list: None, request: pytest.FixtureRequest) -> Any:
    route: str = request.param
    return load_function(ROUTES[route], {**MTLS, "BERTH_CLUSTER_DUMP": cluster_dump})


def asked(serial: str) -> Mapping[str, object]:
    return certificate_event(serial, time.time() - 60, time.time() + 60) | {"body": "{}", "isBase64Encoded": False}


@pytest.mark.parametrize("handler", ROUTES, indirect=True)
def test_accepts_only_a_listed_certificate(handler: Callable[..., Any], log_lines: LogLines) -> None:
    assert handler(asked(OTHER), None)["statusCode"] == 403
    assert handler({"requestContext": {}, "body": "{}"}, None)["statusCode"] == 403
    assert handler(asked(LISTED), None)["statusCode"] != 403
    denied, anonymous, answered = log_lines.all()
    assert (denied["verb"], denied["outcome"]) == ("authorizer", "denied-not-listed")
    assert (anonymous["verb"], anonymous["outcome"]) == ("authorizer", "denied-no-credentials")
    assert answered["caller"] == f"certificate {LISTED}"
