"""Each function's role, judged by an independent simulator: it allows what the code really asks, and nothing else.

The requests to DynamoDB are recorded while a counted pod is bound, confirmed and released by the template's own code.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import boto3
import orjson
import pytest
from botocore.client import BaseClient

from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.ledger.table import Marker, MarkerState
from berth_cli.serve.stores import DynamoDBStore
from tests.builders.event_fixtures import EVENTS
from tests.builders.events import http_event
from tests.deployment.permissions import GRANTS, WARM_UP_TARGETS
from tests.deployment.policy_simulator import ACCOUNT, ALLOWED, REGION, STACK, Request, documents, simulate, table
from tests.deployment.template import KUBECONFIGS, Deployment
from tests.deployment.transform import transformed
from tests.fakes.moto_dynamodb import MotoDynamoDB
from tests.integration.test_counted_pod_lifecycle import LocalStack, running

pytestmark = pytest.mark.external

CACHE_TABLE, LEDGER_TABLE = "policies-cache", "policies-ledger"
TABLES = {CACHE_TABLE: table("CacheTable"), LEDGER_TABLE: table("LedgerTable")}
VERBS = {
    "filter": "FilterFunction",
    "filter_onlyone": "FilterOnlyOneFunction",
    "prioritize": "PrioritizeFunction",
    "preempt": "PreemptFunction",
}
KEYED = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query")
FUNCTION: ContextVar[str] = ContextVar("function", default="WatcherFunction")
"""Whose code runs. Threads begin with the default: those that live on are the watcher's."""


@contextmanager
def as_function(name: str) -> Iterator[None]:
    token = FUNCTION.set(name)
    yield
    FUNCTION.reset(token)


def leading_key(operation: str, parameters: Mapping[str, Any]) -> str | None:
    """The partition key of the request, as DynamoDB tells IAM."""
    match operation:
        case "Query":
            [name] = re.findall(r"pk = (:\w+)", parameters["KeyConditionExpression"])
            key: str = parameters["ExpressionAttributeValues"][name]["S"]
            return key
        case "PutItem":
            return str(parameters["Item"]["pk"]["S"])
        case "GetItem" | "UpdateItem" | "DeleteItem":
            return str(parameters["Key"]["pk"]["S"])
    return None


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[Request]]:
    """The requests of every client to DynamoDB from now on, without those of this test."""
    found: set[Request] = set()
    call = BaseClient._make_api_call  # type: ignore[attr-defined]

    def record(client: Any, operation: str, parameters: Mapping[str, Any]) -> Any:
        name = parameters.get("TableName")
        if FUNCTION.get() and name in TABLES:
            key = leading_key(operation, parameters)
            found.add(Request(FUNCTION.get(), f"dynamodb:{operation}", TABLES[name], key))
        return call(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", record)
    token = FUNCTION.set("")
    yield found
    FUNCTION.reset(token)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[LocalStack]:
    store = MotoDynamoDB().install(DynamoDBStore(CACHE_TABLE, LEDGER_TABLE))
    client = boto3.client("dynamodb")
    ledger = DynamoDBLedgerTable(client, LEDGER_TABLE)
    ledger.put_marker(Marker(MarkerState.READY, 0, time.time(), "test"), None)
    with running(tmp_path / "cluster.yaml", (store, ledger)) as stack:
        yield stack


@pytest.fixture(scope="module")
def policies() -> dict[str, list[Any]]:
    """The documents of each role, by function."""
    roles = Deployment(transformed(), Authentication="basic").resources("AWS::IAM::Role")
    return {name: documents(roles[f"{name}Role"]) for name in GRANTS}


def test_roles_allow_every_recorded_request(
    recorded: set[Request], stack: LocalStack, policies: dict[str, list[Any]]
) -> None:
    stack.wait("the node has a ledger", lambda: stack.ledger.node("node-a") is not None)
    with as_function("BindFunction"):
        assert (stack.bind("a"), stack.bind("b")) == ("", "")
        assert stack.bind("c") == "Insufficient example.com/slot"
    for verb, function in VERBS.items():
        event = orjson.loads((EVENTS / verb / "cache-mode.json").read_bytes())
        with as_function(function):
            assert stack.call(f"POST /scheduler/{verb}", event)["statusCode"] == 200
    with as_function("HealthzFunction"):
        stack.call("GET /healthz", http_event("", "GET /healthz"))
    stack.wait("no reservation is open", lambda: not stack.ledger.open_reservations())
    stack.write("b")
    stack.wait("the reservation of a is released", lambda: "a" not in stack.states())
    stack.stop()
    requests = sorted(recorded, key=str)
    decisions = simulate(requests, policies)
    refused = [f"{decision}: {each}" for each, decision in zip(requests, decisions, strict=True) if decision != ALLOWED]
    assert refused == []
    asking = {each.role for each in requests}
    assert asking == GRANTS.keys() - {"AuthorizerFunction"}
    assert len(requests) > 20


def other(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


FORBIDDEN = [
    *(
        (f"dynamodb:{action}", resource, None)
        for action in ("Scan", "DeleteTable", "UpdateTable", "BatchGetItem", "BatchWriteItem", "PartiQLSelect")
        for resource in TABLES.values()
    ),
    *((f"dynamodb:{action}", resource, "other") for action in KEYED for resource in TABLES.values()),
    *((f"dynamodb:{action}", resource, None) for action in KEYED for resource in TABLES.values()),
    *((f"dynamodb:{action}", other("dynamodb", "table/two-CacheTable"), "head") for action in KEYED),
    ("secretsmanager:GetSecretValue", other("secretsmanager", "secret:two-PasswordSecret-AbCdEf"), None),
    ("secretsmanager:PutSecretValue", KUBECONFIGS["WatcherKubeconfigSecretArn"], None),
    ("ssm:PutParameter", other("ssm", f"parameter/berth/{STACK}/allow-list"), None),
    ("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/any", None),
    ("iam:PutRolePolicy", f"arn:aws:iam::{ACCOUNT}:role/any", None),
    ("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/any", None),
    ("lambda:UpdateFunctionCode", other("lambda", f"function:{STACK}-FilterFunction"), None),
    ("lambda:InvokeFunction", other("lambda", f"function:{STACK}-HealthzFunction:live"), None),
    ("lambda:InvokeFunction", other("lambda", "function:two-FilterFunction:live"), None),
]
"""Action, resource and leading key of what no role may do."""


@pytest.mark.parametrize("function", GRANTS)
def test_role_denies_what_no_function_needs(policies: dict[str, list[Any]], function: str) -> None:
    requests = [Request(function, action, resource, key) for action, resource, key in FORBIDDEN]
    decisions = simulate(requests, policies)
    denied = ("ImplicitlyDenied", "ExplicitlyDenied")
    wrong = [
        f"{decision}: {each}" for each, decision in zip(requests, decisions, strict=True) if decision not in denied
    ]
    assert wrong == []


def test_only_the_owner_of_a_secret_or_function_may_use_it(policies: dict[str, list[Any]]) -> None:
    owners: dict[tuple[str, str], set[str]] = {
        ("secretsmanager:GetSecretValue", KUBECONFIGS["WatcherKubeconfigSecretArn"]): {"WatcherFunction"},
        ("secretsmanager:GetSecretValue", KUBECONFIGS["BinderKubeconfigSecretArn"]): {"BindFunction"},
        ("secretsmanager:GetSecretValue", other("secretsmanager", f"secret:{STACK}-PasswordSecret-AbCdEf")): {
            "AuthorizerFunction"
        },
        **{
            ("lambda:InvokeFunction", other("lambda", f"function:{STACK}-{name}:live")): {"WatcherFunction"}
            for name in WARM_UP_TARGETS
        },
    }
    requests = [Request(role, action, resource) for action, resource in owners for role in policies]
    allowed = {
        (each.action, each.resource, each.role)
        for each, decision in zip(requests, simulate(requests, policies), strict=True)
        if decision == ALLOWED
    }
    assert allowed == {(*call, role) for call, roles in owners.items() for role in roles}
