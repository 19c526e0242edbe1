"""The events of events/ on the real handlers, with embedded DynamoDB and the cluster of events/cluster.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from berth.runtime import aws_clients
from berth_cli.server.functions import read_template_api
from berth_cli.server.watcher_thread import LocalLambdaContext
from tests.builders.event_fixtures import (
    ALLOW_LIST,
    BODY,
    EVENTS,
    PASSWORD,
    EventFixture,
    bodies,
    decoded,
    matches,
    read_fixtures,
)
from tests.fakes.moto_account import moto_session

SECONDS = 20.0
FIXTURES = read_fixtures()
API = read_template_api()
RESULT_KEYS = ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]


@pytest.fixture
def basic(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The variables of an authorizer with a secret in moto."""
    session = moto_session("secretsmanager")
    monkeypatch.setattr(aws_clients, "SESSION", session._session)
    client = session.client("secretsmanager")
    name = client.create_secret(Name="fixtures", SecretString=json.dumps(PASSWORD))["Name"]
    yield {"BERTH_AUTHENTICATION": "basic", "BERTH_PASSWORD_SECRET": name}
    client.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)


@pytest.fixture
def mtls() -> dict[str, str]:
    """The variables of functions that check certificates."""
    return {"BERTH_AUTHENTICATION": "mtls", "BERTH_ALLOW_LIST": str(ALLOW_LIST)}


@pytest.mark.parametrize("fixture", [pytest.param(fixture, id=fixture.name) for fixture in FIXTURES])
def test_function_returns_expected_response(
    fixture: EventFixture,
    load_function: Callable[..., Callable[..., Any]],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Each fixture has a new environment and a copy of the dump, so that it sees no bind of another."""
    dump = tmp_path / "cluster.yaml"
    dump.write_bytes((EVENTS / "cluster.yaml").read_bytes())
    variables = {"BERTH_CLUSTER_DUMP": str(dump), "BERTH_WATCHER_MODE": "periodic"}
    variables |= request.getfixturevalue("basic" if fixture.needs_password else "mtls")
    handler = load_function(fixture.function, variables)
    answer = decoded(handler(fixture.event, LocalLambdaContext(SECONDS)))
    assert matches(fixture.expected, answer), answer


def test_every_function_but_pre_traffic_has_fixtures() -> None:
    functions = {source.code.name for source in API.functions.values()}
    assert {fixture.function for fixture in FIXTURES} == functions - {"pre_traffic"}


def test_body_files_are_the_bodies_of_the_events() -> None:
    found = {path: orjson.loads(path.read_bytes()) for path in EVENTS.glob(f"*/*{BODY}")}
    assert found == bodies(FIXTURES), "run: python -m tests.builders.event_fixtures"


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize", "preempt", "bind"])
def test_every_verb_has_body_files(verb: str) -> None:
    assert len(list((EVENTS / verb).glob(f"*{BODY}"))) >= 3


@pytest.mark.parametrize("function", ["filter", "filter_onlyone", "prioritize", "preempt"])
def test_verb_has_fixtures_for_both_modes_and_failures(function: str) -> None:
    names = {fixture.name.split("/")[1] for fixture in FIXTURES if fixture.function == function}
    assert {"cache-mode", "full-mode", "base64", "lower-case-keys", "empty-body", "not-json", "null-pod"} <= names


@pytest.mark.parametrize(
    "fixture",
    [pytest.param(fixture, id=fixture.name) for fixture in FIXTURES if "routeKey" in fixture.event],
)
def test_event_matches_the_api_route(fixture: EventFixture) -> None:
    event, route = fixture.event, fixture.event["routeKey"]
    function = API.functions["AuthorizerFunction"] if event.get("type") == "REQUEST" else API.routes[route]
    assert function.code.name == fixture.function
    assert event["version"] == "2.0"
    assert event["requestContext"]["routeKey"] == route
    assert f"{event['requestContext']['http']['method']} {event['rawPath']}" == route


@pytest.mark.parametrize(
    "fixture",
    [
        pytest.param(fixture, id=fixture.name)
        for fixture in FIXTURES
        if fixture.function.startswith("filter") and fixture.expected["statusCode"] == 200
    ],
)
def test_expected_filter_result_has_every_contract_key(fixture: EventFixture) -> None:
    """`matches` allows further keys in the response, so a missing key would stay unnoticed."""
    assert list(fixture.expected["body"]) == RESULT_KEYS
