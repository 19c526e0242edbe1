"""The pre-traffic hook: it calls every verb's new version, and reports to CodeDeploy whether all of them can decide."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import orjson
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from berth.runtime.environment import SettingsInvalid
from berth.runtime.pre_traffic import NAME, NOTHING_LOADED, PreTrafficHook
from tests.fakes.log_lines import LogLines

Load = Callable[..., Callable[..., Any]]
Handler = Callable[..., Any]

VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")
VERSIONS = {verb: f"arn:aws:lambda:us-east-1:123456789012:function:{verb}:7" for verb in VERBS}
EVENT = {"DeploymentId": "d-ABC", "LifecycleEventHookExecutionId": "exec-1"}
HOOK_EVENT = {"deploymentId": "d-ABC", "lifecycleEventHookExecutionId": "exec-1"}
STALE = '{"nodeCache": {"maxStaleness": 0.001}}'


class Published:
    """Invokes these handlers as Lambda invokes the versions. asked: the versions that were invoked."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = {VERSIONS[verb]: handler for verb, handler in handlers.items()}
        self.asked: list[str] = []

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> Mapping[str, object]:  # noqa: N803
        assert InvocationType == "RequestResponse"
        self.asked.append(FunctionName)
        answer = self._handlers[FunctionName](orjson.loads(Payload), None)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(b'{"errorMessage": "s3cret"}')}
        return {"StatusCode": 200, "Payload": io.BytesIO(orjson.dumps(answer))}


@pytest.fixture
def codedeploy() -> Iterator[tuple[Any, Stubber]]:
    client: Any = boto3.client("codedeploy", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stubber:
        yield client, stubber


@pytest.fixture(scope="module")
def handlers(load_function: Load, cluster_dump: str) -> dict[str, Handler]:
    """Return the module's shared, real handlers: filter waits for the probe's unknown node only in its first call."""
    return {verb: load_function(verb, {"BERTH_CLUSTER_DUMP": cluster_dump} if verb == "bind" else {}) for verb in VERBS}


def handled(published: Published, codedeploy: tuple[Any, Stubber], status: str) -> dict[str, Any]:
    """Return the hook's answer, and check that CodeDeploy gets this status once."""
    client, stubber = codedeploy
    stubber.add_response("put_lifecycle_event_hook_execution_status", {}, {**HOOK_EVENT, "status": status})
    report = PreTrafficHook(VERSIONS, published, client.put_lifecycle_event_hook_execution_status).handle(EVENT)
    stubber.assert_no_pending_responses()
    return dict(report)


def test_accepts_versions_that_load_and_decide(handlers: dict[str, Handler], codedeploy: tuple[Any, Stubber]) -> None:
    published = Published(handlers)
    assert handled(published, codedeploy, "Succeeded") == {"status": "Succeeded", "defects": []}
    assert published.asked == [VERSIONS[verb] for verb in VERBS for _ in range(1 if verb == "bind" else 2)]


def test_calls_bind_without_a_pod_so_that_it_does_not_bind(
    handlers: dict[str, Handler], codedeploy: tuple[Any, Stubber], log_lines: LogLines
) -> None:
    handled(Published(handlers), codedeploy, "Succeeded")
    [bind] = [line for line in log_lines.all() if line["verb"] == "bind"]
    assert (bind["outcome"], bind["detail"]) == ("failure-bad-request", "the binding request has no valid PodName")
    assert {line["pod"] for line in log_lines.all()} == {"", f"default/{NAME}"}


@pytest.mark.parametrize(
    ("verb", "variables", "defect"),
    [
        pytest.param("filter", {"BERTH_CACHE_TABLE": "absent"}, NOTHING_LOADED, id="no table"),
        pytest.param("filter_onlyone", {"BERTH_CONFIGURATION": STALE}, "older than maxStaleness", id="a stale cache"),
        pytest.param("prioritize", {"BERTH_CONFIGURATION": '{"profile": "none"}'}, NOTHING_LOADED, id="no profile"),
        pytest.param(
            "prioritize",
            {"BERTH_CONFIGURATION": STALE, "BERTH_AUTHENTICATION": "basic"},
            "failed without saying why",
            id="a failure with status 200, behind basic",
        ),
        pytest.param("prioritize", {"BERTH_CONFIGURATION": STALE}, "status 500", id="a failure by status"),
        pytest.param("preempt", {"BERTH_CONFIGURATION": STALE}, "status 500", id="preempt fails by status"),
        pytest.param("bind", {"BERTH_KUBECONFIG": "/absent"}, "/absent", id="bind without a cluster"),
    ],
)
def test_rejects_and_names_a_version_that_cannot_decide(
    load_function: Load,
    handlers: dict[str, Handler],
    codedeploy: tuple[Any, Stubber],
    verb: str,
    variables: dict[str, str],
    defect: str,
) -> None:
    published = Published({**handlers, verb: load_function(verb, variables)})
    [found] = handled(published, codedeploy, "Failed")["defects"]
    assert found.startswith(f"{verb}: ")
    assert defect in found


@pytest.mark.parametrize(
    ("answer", "defect"),
    [
        pytest.param(None, "it ended by an error (Unhandled); see its log", id="an import that fails"),
        pytest.param(
            ClientError({"Error": {"Code": "ResourceConflictException", "Message": "Pending"}}, "Invoke"),
            "it cannot be invoked: ",
            id="a missing version",
        ),
        pytest.param({"message": "hello"}, "its answer is none of the API's", id="another function"),
        pytest.param({"statusCode": 200, "body": "<html>"}, "its answer is none of the API's", id="not JSON"),
    ],
)
def test_rejects_unexpected_responses_without_quoting_secrets(
    handlers: dict[str, Handler], codedeploy: tuple[Any, Stubber], log_lines: LogLines, answer: object, defect: str
) -> None:
    published = Published({**handlers, "bind": lambda *_: answer})
    report = handled(published, codedeploy, "Failed")
    assert report["defects"][0].startswith(f"bind: {defect}")
    [line] = [line for line in log_lines.all() if line["verb"] == "pre_traffic"]
    assert (line["level"], line["outcome"], line["detail"]) == ("WARNING", "Failed", report["defects"][0])
    assert "s3cret" not in str(log_lines.all())


def test_manual_invocation_does_not_report_to_codedeploy(
    handlers: dict[str, Handler], codedeploy: tuple[Any, Stubber]
) -> None:
    client, _ = codedeploy
    assert PreTrafficHook(VERSIONS, Published(handlers), client.put_lifecycle_event_hook_execution_status).handle(
        {}
    ) == {"status": "Succeeded", "defects": []}


def test_raises_if_report_to_codedeploy_fails(handlers: dict[str, Handler], codedeploy: tuple[Any, Stubber]) -> None:
    client, stubber = codedeploy
    stubber.add_client_error("put_lifecycle_event_hook_execution_status", "ThrottlingException")
    with pytest.raises(ClientError):
        PreTrafficHook(VERSIONS, Published(handlers), client.put_lifecycle_event_hook_execution_status).handle(EVENT)


def test_import_does_not_call_any_service(load_function: Load) -> None:
    load_function("pre_traffic", {f"BERTH_{verb.upper()}_VERSION": arn for verb, arn in VERSIONS.items()})


def test_does_not_start_if_a_version_is_missing(load_function: Load) -> None:
    with pytest.raises(SettingsInvalid, match="BERTH_BIND_VERSION"):
        load_function("pre_traffic", {"BERTH_FILTER_VERSION": VERSIONS["filter"]})
