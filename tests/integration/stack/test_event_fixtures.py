"""The events of events/ on the real handlers, with embedded DynamoDB and the cluster of events/cluster.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from berth.runtime import aws_clients
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


@pytest.fixture
def basic(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Yield the variables of an authorizer with a secret in moto."""
    session = moto_session("secretsmanager")
    monkeypatch.setattr(aws_clients, "SESSION", session._session)
    client = session.client("secretsmanager")
    name = client.create_secret(Name="fixtures", SecretString=json.dumps(PASSWORD))["Name"]
    yield {"BERTH_AUTHENTICATION": "basic", "BERTH_PASSWORD_SECRET": name}
    client.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)


@pytest.fixture
def mtls() -> dict[str, str]:
    return {"BERTH_AUTHENTICATION": "mtls", "BERTH_ALLOW_LIST": str(ALLOW_LIST)}


@pytest.mark.parametrize("fixture", [pytest.param(fixture, id=fixture.name) for fixture in FIXTURES])
def test_function_returns_the_expected_response_to_each_event(
    fixture: EventFixture,
    load_function: Callable[..., Callable[..., Any]],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Each fixture has a new environment and a copy of the dump, so that it does not see another fixture's bind."""
    dump = tmp_path / "cluster.yaml"
    dump.write_bytes((EVENTS / "cluster.yaml").read_bytes())
    variables = {"BERTH_CLUSTER_DUMP": str(dump), "BERTH_WATCHER_MODE": "periodic"}
    variables |= request.getfixturevalue("basic" if fixture.needs_password else "mtls")
    handler = load_function(fixture.function, variables)
    answer = decoded(handler(fixture.event, LocalLambdaContext(SECONDS)))
    assert matches(fixture.expected, answer), answer


def test_body_files_match_the_bodies_of_the_events() -> None:
    found = {path: orjson.loads(path.read_bytes()) for path in EVENTS.glob(f"*/*{BODY}")}
    assert found == bodies(FIXTURES), "run: python -m tests.builders.event_fixtures"
