"""Each function's role, evaluated by an independent simulator: it allows the code's requests and nothing else.

The requests to DynamoDB are recorded while a counted pod is bound, confirmed and released by the template's own code.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import boto3
import orjson
import pytest

from berth.ledger.dynamodb_announcements import PARTITION as ANNOUNCED
from berth.ledger.gangs.dynamodb_item import PARTITION as GANG
from berth.ledger.nodes.dynamodb_item import OPEN
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.table import Marker, MarkerState
from berth.runtime import aws_clients
from berth_cli.server.options import DynamoDBStore
from berth_cli.sources import stack_state as explained_stack
from berth_cli.sources.stack import DeployedStack
from tests.builders.event_fixtures import EVENTS
from tests.builders.events import http_event
from tests.conftest import PROJECT
from tests.deployment.permissions import (
    ALLOW_LIST,
    CACHE,
    CONFIGURATION,
    GRANTS,
    HEAD,
    LEDGER,
    MARKER,
    STANDBY,
    WARM_UP_TARGETS,
)
from tests.deployment.policy_simulator import (
    ACCOUNT,
    ALLOWED,
    STACK,
    Request,
    arn,
    documents,
    refused,
    resolved,
    simulate,
    table,
)
from tests.deployment.recorded_requests import RecordedRequests, as_function
from tests.deployment.template import KUBECONFIGS, Deployment
from tests.deployment.transform import transformed
from tests.fakes.moto_dynamodb import MotoDynamoDB
from tests.integration.stack.local_stack_run import LocalStack, running

pytestmark = pytest.mark.external

CACHE_TABLE, LEDGER_TABLE = "policies-cache", "policies-ledger"
TABLES = {CACHE_TABLE: table("CacheTable"), LEDGER_TABLE: table("LedgerTable")}
VERBS = {
    "filter": "FilterFunction",
    "filter_onlyone": "FilterOnlyOneFunction",
    "prioritize": "PrioritizeFunction",
    "preempt": "PreemptFunction",
}
WRITES = ("PutItem", "UpdateItem", "DeleteItem")
KEYED = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "Query")
KEYS = {
    "CacheTable": (
        *(HEAD, STANDBY, CONFIGURATION, ALLOW_LIST),
        *("log#of-another#pods", "snapshot#of-another#0", "decision#ml/absent", "other"),
    ),
    "LedgerTable": (ANNOUNCED, GANG, OPEN, MARKER, CONFIGURATION, "node#absent", "other"),
}
"""A partition key of each kind, by table."""


@pytest.fixture
def recorded() -> Iterator[RecordedRequests]:
    """Yield the requests of the stack's clients, without those of this test."""
    with as_function(""):
        yield RecordedRequests(TABLES)


@pytest.fixture
def stack(tmp_path: Path, recorded: RecordedRequests) -> Iterator[LocalStack]:
    store = MotoDynamoDB().install(DynamoDBStore(CACHE_TABLE, LEDGER_TABLE))
    recorded.listen(aws_clients.SESSION)
    client = boto3.client("dynamodb")
    ledger = DynamoDBLedgerTable(client, LEDGER_TABLE)
    ledger.put_marker(Marker(MarkerState.READY, 0, time.time(), "test"), None)
    with running(tmp_path / "cluster.yaml", store, ledger) as stack:
        yield stack


@pytest.fixture(scope="module")
def policies() -> dict[str, list[Any]]:
    roles = Deployment(transformed(), Authentication="basic").resources("AWS::IAM::Role")
    return {name: documents(roles[f"{name}Role"]) for name in GRANTS}


def test_roles_allow_every_recorded_request(
    recorded: RecordedRequests, stack: LocalStack, policies: dict[str, list[Any]]
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
    requests = recorded.sorted()
    assert refused(requests, policies) == []
    watchers = [replace(each, role="WatcherPolicy") for each in requests if each.role == "WatcherFunction"]
    external = Deployment(transformed(), Authentication="basic", WatcherMode="external")
    [policy] = external.resources("AWS::IAM::ManagedPolicy").values()
    assert refused(watchers, {"WatcherPolicy": [resolved(policy["PolicyDocument"])]}) == [], "berth watch"
    asking = {each.role for each in requests}
    assert asking == GRANTS.keys() - {"AuthorizerFunction"}
    assert len(requests) > 20


RIGHT = re.compile(r"^\| (`(?:cloudformation|dynamodb):[^|]*) \| ([^|]*) \|$", re.MULTILINE)


def documented_rights() -> list[Any]:
    """Return the table of docs/how-to/explain.md as a policy."""
    (describe, _), (read, keys) = RIGHT.findall((PROJECT / "docs" / "how-to" / "explain.md").read_text())
    names = {"Action": re.findall(r"`([^`]*)`", read), "Resource": table("CacheTable")}
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": re.findall(r"`([^`]*)`", keys)}}
    allowed = [{"Action": describe.strip("`"), "Resource": "*"}, {**names, "Condition": condition}]
    return [{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **each} for each in allowed]}]


def test_documented_rights_allow_all_requests_of_explain(
    recorded: RecordedRequests, stack: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = DeployedStack(STACK, None, {"Profile": "label-priority"}, {"CacheTableName": CACHE_TABLE})
    monkeypatch.setattr(explained_stack, "describe", lambda name, region: found)
    stack.wait("the node has a ledger", lambda: stack.ledger.node("node-a") is not None)
    with as_function("user"):
        explained_stack.read_stack(STACK, None, ("ml", "c"))
    requests = [each for each in recorded.sorted() if each.role == "user"]
    assert {str(each.leading_key).partition("#")[0] for each in requests} >= {"head", "decision"}
    # Further reads of a stack that has published more and has an applied configuration.
    requests += [Request("user", "dynamodb:Query", table("CacheTable"), "log#of-another#pods")]
    requests += [Request("user", "dynamodb:GetItem", table("CacheTable"), "snapshot#of-another#0")]
    requests += [Request("user", "dynamodb:GetItem", table("CacheTable"), CONFIGURATION)]
    assert refused(requests, {"user": documented_rights()}) == []
    others = [Request("user", f"dynamodb:{action}", table("CacheTable"), "head") for action in (*WRITES, "Scan")]
    others += [Request("user", "dynamodb:GetItem", table(name), ALLOW_LIST) for name in ("CacheTable", "LedgerTable")]
    assert len(refused(others, {"user": documented_rights()})) == len(others)


FORBIDDEN = [
    *(
        (f"dynamodb:{action}", resource, None)
        for action in ("Scan", "DescribeTable", "DeleteTable", "UpdateTable")
        for resource in TABLES.values()
    ),
    *(
        (f"dynamodb:{action}", resource, None)
        for action in ("BatchGetItem", "BatchWriteItem", "PartiQLSelect")
        for resource in TABLES.values()
    ),
    *((f"dynamodb:{action}", resource, "other") for action in KEYED for resource in TABLES.values()),
    *((f"dynamodb:{action}", resource, None) for action in KEYED for resource in TABLES.values()),
    *((f"dynamodb:{action}", arn("dynamodb", "table/two-CacheTable"), "head") for action in KEYED),
    ("secretsmanager:GetSecretValue", arn("secretsmanager", "secret:two-PasswordSecret-AbCdEf"), None),
    ("secretsmanager:PutSecretValue", KUBECONFIGS["WatcherKubeconfigSecretArn"], None),
    *((f"dynamodb:{action}", table("CacheTable"), "allow-list") for action in WRITES),
    ("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/any", None),
    ("iam:PutRolePolicy", f"arn:aws:iam::{ACCOUNT}:role/any", None),
    ("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/any", None),
    ("lambda:UpdateFunctionCode", arn("lambda", f"function:{STACK}-FilterFunction"), None),
    *(
        ("lambda:InvokeFunction", arn("lambda", f"function:{STACK}-{name}Function:live"), None)
        for name in ("Healthz", "Watcher")
    ),
    ("lambda:InvokeFunction", arn("lambda", "function:two-FilterFunction:live"), None),
]
"""Requests that every role denies: action, resource and leading key."""


@pytest.mark.parametrize("function", GRANTS)
def test_role_denies_actions_that_its_function_does_not_need(policies: dict[str, list[Any]], function: str) -> None:
    requests = [Request(function, action, resource, key) for action, resource, key in FORBIDDEN]
    decisions = simulate(requests, policies)
    denied = ("ImplicitlyDenied", "ExplicitlyDenied")
    wrong = [
        f"{decision}: {each}" for each, decision in zip(requests, decisions, strict=True) if decision not in denied
    ]
    assert wrong == []


@pytest.mark.parametrize("function", GRANTS)
def test_role_allows_exactly_the_granted_item_actions(policies: dict[str, list[Any]], function: str) -> None:
    """So a verb cannot publish nodes, and only bind and the watcher write reservations."""
    tables = {"CacheTable": str(CACHE), "LedgerTable": str(LEDGER)}
    requests = {
        Request(function, f"dynamodb:{action}", table(name), key): tables[name]
        for name, keys in KEYS.items()
        for key in keys
        for action in (*KEYED, "BatchGetItem")
    }
    decisions = zip(requests, simulate([*requests], policies), strict=True)
    assert {each for each, decision in decisions if decision == ALLOWED} == {
        each
        for each, resource in requests.items()
        for grant in GRANTS[function]
        if each.action in grant.actions and grant.resource == resource
        if any(fnmatchcase(str(each.leading_key), pattern) for pattern in grant.keys)
    }


def test_only_the_owner_may_use_a_secret_or_function(policies: dict[str, list[Any]]) -> None:
    owners: dict[tuple[str, str], set[str]] = {
        ("secretsmanager:GetSecretValue", KUBECONFIGS["WatcherKubeconfigSecretArn"]): {"WatcherFunction"},
        ("secretsmanager:GetSecretValue", KUBECONFIGS["BinderKubeconfigSecretArn"]): {"BindFunction"},
        ("secretsmanager:GetSecretValue", arn("secretsmanager", f"secret:{STACK}-PasswordSecret-AbCdEf")): {
            "AuthorizerFunction"
        },
        **{
            ("lambda:InvokeFunction", arn("lambda", f"function:{STACK}-{name}:live")): {"WatcherFunction"}
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


VERB_FUNCTIONS = tuple(f"{name}Function" for name in ("Filter", "FilterOnlyOne", "Prioritize", "Bind", "Preempt"))
SERVICE_CALLS = {
    "WatcherScheduleRole": [("lambda:InvokeFunction", arn("lambda", f"function:{STACK}-WatcherFunction:live"))],
    "DeploymentRole": [
        *(
            (f"lambda:{action}", arn("lambda", f"function:{STACK}-{function}:live"))
            for action in ("GetAlias", "UpdateAlias")
            for function in VERB_FUNCTIONS
        ),
        ("lambda:InvokeFunction", arn("lambda", f"function:{STACK}-PreTrafficFunction")),
        ("cloudwatch:DescribeAlarms", "*"),
    ],
}
"""Requests of EventBridge Scheduler and CodeDeploy by role, as AWS documents them."""


@pytest.fixture(scope="module")
def service_policies() -> dict[str, list[Any]]:
    """Return the policy documents of each role that an AWS service assumes."""
    template = Deployment(transformed(), Authentication="basic", DeploymentPreference="Canary10Percent10Minutes")
    roles = template.resources("AWS::IAM::Role")
    functions = {f"{name}Role" for name in template.resources("AWS::Lambda::Function")}
    assert roles.keys() - functions == SERVICE_CALLS.keys()
    return {name: documents(roles[name]) for name in SERVICE_CALLS}


@pytest.mark.parametrize("role", SERVICE_CALLS)
def test_service_role_allows_exactly_its_services_requests(service_policies: dict[str, list[Any]], role: str) -> None:
    asked = [Request(role, action, resource) for action, resource in SERVICE_CALLS[role]]
    assert refused(asked, service_policies) == []
    others = {call for calls in SERVICE_CALLS.values() for call in calls} - set(SERVICE_CALLS[role])
    forbidden = [Request(role, action, resource) for action, resource in sorted(others)]
    forbidden += [Request(role, *each) for each in FORBIDDEN if each[:2] not in SERVICE_CALLS[role]]
    denied = refused(forbidden, service_policies)
    assert len(denied) == len(forbidden)
    assert all(each.startswith(("ImplicitlyDenied", "ExplicitlyDenied", "no statement matches")) for each in denied)
