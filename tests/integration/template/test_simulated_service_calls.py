"""Each function with the environment of the template: its role allows its calls of services other than DynamoDB, and
does not allow calls that the function does not make.

The account answers every request with fixed bytes. A call without a permission fails the test.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import boto3
import botocore.session
import orjson
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import EndpointConnectionError

from berth.authentication.dynamodb_allow_list import ALLOW_LIST_KEY
from berth.runtime import aws_clients
from berth.runtime.aws_clients import CALLS
from berth.runtime.cluster_settings import WatcherSettings
from berth.runtime.http.events import WARM_UP_EVENT
from berth.runtime.telemetry.cloudwatch_metrics import CloudWatchMetrics
from berth.runtime.watcher.background import WarmUp
from berth.runtime.watcher.watcher_run import _lambda_client
from berth_cli.server.functions import load_handler, set_environment
from berth_cli.server.watcher_thread import LocalLambdaContext
from berth_cli.sources.stack import StackUnavailable, describe
from tests.builders.authorizer_events import basic, basic_event, certificate_event
from tests.deployment.policy_simulator import REGION, STACK, documents, listed, refused, resolved
from tests.deployment.recorded_requests import RecordedRequests, as_function
from tests.deployment.template import Deployment, folders_of_functions
from tests.deployment.transform import transformed

pytestmark = pytest.mark.external

ANSWERS: Mapping[str, object] = {
    "secretsmanager": {"ARN": "secret", "Name": "secret", "SecretString": '{"username": "berth", "password": "one"}'},
    "lambda": {"statusCode": 200, "body": "{}"},
    "codedeploy": {},
    "dynamodb": {},
}
"""Maps a service to its response. Other services cannot be reached."""

ALLOW_LIST = {"Item": {**ALLOW_LIST_KEY, "text": {"S": "1f00000000000001"}}}
"""The only item of all tables."""

DEPLOYMENT = {"DeploymentId": "d-ABC", "LifecycleEventHookExecutionId": "exec-1"}


class _Body(io.BytesIO):
    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


def _answer(**event: Any) -> Any:
    request: AWSPreparedRequest = event["request"]
    service = event["event_name"].split(".")[1].replace("-", "")
    if service not in ANSWERS:
        raise EndpointConnectionError(endpoint_url=request.url)
    answer = ALLOW_LIST if b"allow-list" in (request.body or b"") else ANSWERS[service]
    return AWSResponse(request.url, 200, HTTPHeaders(), _Body(orjson.dumps(answer)))


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> RecordedRequests:
    session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
    session.set_credentials("test", "test")
    session.set_config_variable("region", REGION)
    session.set_config_variable("ignore_configured_endpoint_urls", True)
    session.register("before-send", _answer)
    found = RecordedRequests({})
    found.listen(session)
    monkeypatch.setattr(aws_clients, "SESSION", session)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session(botocore_session=session))
    return found


class Stack:
    """The functions of the processed template, each with its environment and its role."""

    def __init__(self, authentication: str) -> None:
        template = Deployment(
            transformed(), Authentication=authentication, DeploymentPreference="Canary10Percent10Minutes"
        )
        self.functions = template.resources("AWS::Lambda::Function")
        roles = template.resources("AWS::IAM::Role")
        self.policies = {name: documents(roles[f"{name}Role"]) for name in self.functions}

    def load(self, name: str) -> Callable[..., Any]:
        variables = dict(self.functions[name]["Environment"]["Variables"])
        variables.pop("BERTH_CONFIGURATION", None)  # the default one
        set_environment({key: str(value) for key, value in resolved(variables).items()})
        return load_handler(folders_of_functions()[name])

    def granted(self) -> set[tuple[str, str]]:
        """Return role and action of each grant except those on tables (test_simulated_policies.py)."""
        return {
            (name, action)
            for name, found in self.policies.items()
            for document in found
            for statement in document["Statement"]
            if statement["Effect"] == "Allow"
            for action in listed(statement["Action"])
            if not action.startswith("dynamodb:")
        }


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    before = os.environ.copy()
    yield
    os.environ.clear()
    os.environ.update(before)


def _call(stack: Stack, name: str) -> None:
    """Call the function so that it makes every call of another service that it can make."""
    handler = stack.load(name)
    now = time.time()
    match name:
        case "WatcherFunction":
            handler({"mode": "periodic"}, LocalLambdaContext(20.0))
            functions = WatcherSettings.from_environ(os.environ).warm_up_functions
            WarmUp(_lambda_client, functions, pytest.fail).step()
        case "PreTrafficFunction":
            handler(DEPLOYMENT, None)
        case "AuthorizerFunction":
            handler(basic_event(basic("berth", "one")), None)
        case _:
            handler(WARM_UP_EVENT, None)
            handler(certificate_event("1f00000000000001", now - 60, now + 60) | {"body": "{}"}, None)


@pytest.mark.parametrize("authentication", ["basic", "mtls"])
def test_role_allows_exactly_the_services_its_function_calls(recorded: RecordedRequests, authentication: str) -> None:
    stack = Stack(authentication)
    for name in stack.functions:
        with as_function(name):
            _call(stack, name)
    requests = recorded.sorted()
    assert refused(requests, stack.policies) == []
    assert {(each.role, each.action) for each in requests} == stack.granted()


def test_policy_of_berth_watch_allows_all_its_service_calls(recorded: RecordedRequests) -> None:
    """The watcher function does not make these calls: variables name its tables, and its metrics are in its log."""
    template = Deployment(transformed(), Authentication="basic", WatcherMode="external")
    [policy] = template.resources("AWS::IAM::ManagedPolicy").values()
    unanswered: list[str] = []
    metrics = CloudWatchMetrics(
        boto3.client("cloudwatch", config=CALLS).put_metric_data,
        STACK,
        detailed=True,
        monotonic=time.monotonic,
        warn=unanswered.append,
    )
    group = {"Metrics": [{"Name": "PublishedAge", "Unit": "Seconds"}], "Dimensions": [["stack"]]}
    metrics.members([group], {}, {"PublishedAge": [1.0]}, time.time())
    metrics.close()
    assert len(unanswered) == 1
    with pytest.raises(StackUnavailable):
        describe(STACK, REGION)
    # The process is not a function: its requests are recorded as the watcher's.
    requests = [replace(each, role="WatcherPolicy") for each in recorded.sorted()]
    assert refused(requests, {"WatcherPolicy": [resolved(policy["PolicyDocument"])]}) == []
    assert {each.action for each in requests} == {"cloudformation:DescribeStacks", "cloudwatch:PutMetricData"}
