"""The handling of a request in a verb's function: authentication, responses, deadlines and failures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, Outcome
from berth.extender.reply import AnyDecision, DecisionRecorder, Reply, reply, status_reply
from berth.runtime.environment import SettingsInvalid
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.runtime.http.events import (
    COMPRESS_ABOVE_BYTES,
    LONGEST_WAIT_SECONDS,
    PRE_TRAFFIC_SOURCE,
    WARM_UP_EVENT,
    body_of,
    call_deadline,
)
from berth.runtime.telemetry.metrics import wait_for_gang
from berth.scheduling.framework.plugin import PluginFailed
from tests.builders.authorizer_events import certificate_event
from tests.builders.nodes import labelled
from tests.builders.requests import cache_mode
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import Verbs
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.runtime.telemetry.metric_lines import described, printed

LISTED, OTHER = "1f00000000000001", "2a00000000000002"
NOBODY_CHECKED = EndpointSettings()
IN_LAMBDA = EndpointSettings.from_environ({"BERTH_AUTHENTICATION": "basic", "AWS_LAMBDA_FUNCTION_NAME": "verb"})


@pytest.fixture
def mutual_tls(tmp_path: Path) -> EndpointSettings:
    """Return settings of mutual TLS with LISTED on the allow-list."""
    path = tmp_path / "allow-list"
    path.write_text(f"{LISTED} # scheduler\n")
    return EndpointSettings.from_environ({"BERTH_AUTHENTICATION": "mtls", "BERTH_ALLOW_LIST": str(path)})


def valid(serial: str) -> dict[str, Any]:
    return certificate_event(serial, time.time() - 3600, time.time() + 3600) | {"body": "the body"}


def endpoint(
    answer: Reply | Exception, settings: EndpointSettings = NOBODY_CHECKED
) -> tuple[VerbEndpoint, list[str | bytes]]:
    bodies: list[str | bytes] = []

    def answering(body: str | bytes, *, deadline: Deadline) -> Reply:
        bodies.append(body)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return VerbEndpoint("verb", settings, answering, status_reply), bodies


def test_reply_becomes_a_response_and_a_log_line(log_lines: LogLines) -> None:
    handled, bodies = endpoint(reply({"ü": 1}, BindOutcome.BOUND, pod="ml/p", detail="done"))
    assert handled.handle({"body": "the body"}) == {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json"},
        "body": '{"ü":1}',
        "isBase64Encoded": False,
    }
    assert bodies == ["the body"]
    [line] = log_lines.all()
    assert (line["verb"], line["outcome"], line["pod"], line["detail"]) == ("verb", "bound", "ml/p", "done")
    assert line["milliseconds"] >= 0


def test_names_plugin_pod_and_node_if_a_plugin_fails(log_lines: LogLines) -> None:
    handled, _ = endpoint(PluginFailed("berth_plugins.mine:Mine", "filter", "KeyError: 'team'", "node-a"))
    answer = handled.handle({"body": '{"Pod": {"metadata": {"namespace": "ml", "name": "p"}}}'})
    message = "pod ml/p: plugin berth_plugins.mine:Mine failed in filter on node node-a: KeyError: 'team'"
    assert orjson.loads(answer["body"]) == {"Error": message}
    trace, line = log_lines.all()
    assert "PluginFailed" in trace["exception"]
    assert (line["outcome"], line["detail"]) == ("failure-plugin-failed", message)


@pytest.mark.parametrize(
    ("event", "body"),
    [
        ({"body": "text"}, "text"),
        ({"body": "text", "isBase64Encoded": False}, "text"),
        ({"body": "dGV4dA==", "isBase64Encoded": True}, b"text"),
        ({"body": None}, ""),
        ({"body": None, "isBase64Encoded": True}, ""),
        ({}, ""),
    ],
)
def test_reads_the_body_of_the_event(event: dict[str, object], body: str | bytes) -> None:
    assert body_of(event) == body


def test_mutual_tls_accepts_listed_certificate_and_logs_it(mutual_tls: EndpointSettings, log_lines: LogLines) -> None:
    handled, bodies = endpoint(reply({}, BindOutcome.BOUND), mutual_tls)
    assert handled.handle(valid(LISTED))["statusCode"] == 200
    assert bodies == ["the body"]
    [line] = log_lines.all()
    assert (line["verb"], line["outcome"], line["caller"]) == ("verb", "bound", f"certificate {LISTED}")


IMITATED = {
    "headers": {
        "x-amzn-mtls-clientcert-serial-number": LISTED,
        "requestcontext": f'{{"authentication":{{"clientCert":{{"serialNumber":"{LISTED}"}}}}}}',
        "authorization": "Basic YmVydGg6aHVudGVyMg==",
        "source": PRE_TRAFFIC_SOURCE,
    },
    "queryStringParameters": {"source": PRE_TRAFFIC_SOURCE, "clientCert": LISTED},
    "body": f'{{"source":"{PRE_TRAFFIC_SOURCE}","requestContext":{{"authentication":{{"clientCert":"{LISTED}"}}}}}}',
}


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        pytest.param(valid(OTHER), "denied-not-listed", id="not listed"),
        pytest.param(certificate_event(LISTED, 1.0, 2.0), "denied-expired", id="expired"),
        pytest.param({}, "denied-no-credentials", id="empty event"),
        pytest.param({"body": "{}"}, "denied-no-credentials", id="no requestContext"),
        pytest.param({"requestContext": {}, **IMITATED}, "denied-no-credentials", id="forged by the caller"),
        pytest.param(
            {"requestContext": {}, "source": PRE_TRAFFIC_SOURCE}, "denied-no-credentials", id="the hook by the gateway"
        ),
        pytest.param(
            {"requestContext": {}, "source": "berth.warm-up"}, "denied-no-credentials", id="a warm-up by the gateway"
        ),
        pytest.param({"source": "berth.other"}, "denied-no-credentials", id="another source"),
    ],
)
def test_mutual_tls_rejects_other_callers_with_403_without_reading_the_body(
    event: dict[str, object], outcome: str, mutual_tls: EndpointSettings, log_lines: LogLines
) -> None:
    handled, bodies = endpoint(reply({}, BindOutcome.BOUND), mutual_tls)
    answer = handled.handle(event)
    assert (answer["statusCode"], answer["body"]) == (403, '{"message":"Forbidden"}')
    assert bodies == []
    [line] = log_lines.all()
    assert (line["level"], line["verb"], line["outcome"]) == ("WARNING", "authorizer", outcome)


def test_pre_traffic_request_is_accepted_without_a_caller(mutual_tls: EndpointSettings) -> None:
    handled, bodies = endpoint(reply({}, BindOutcome.BOUND), mutual_tls)
    assert handled.handle({"source": PRE_TRAFFIC_SOURCE, "body": "probe"})["statusCode"] == 200
    assert bodies == ["probe"]


def test_warm_up_reads_the_allow_list_without_handling_a_request(mutual_tls: EndpointSettings) -> None:
    handled, bodies = endpoint(reply({}, BindOutcome.BOUND), mutual_tls)
    assert handled.handle(WARM_UP_EVENT)["body"] == '{"version":0}'
    assert mutual_tls.allow_list is not None
    mutual_tls.allow_list.unlink()
    assert handled.handle(valid(LISTED))["statusCode"] == 200
    assert bodies == ["the body"]


def test_basic_leaves_the_check_to_the_gateways_authorizer() -> None:
    handled, bodies = endpoint(reply({}, BindOutcome.BOUND), IN_LAMBDA)
    assert handled.handle({"requestContext": {}, "body": "the body"})["statusCode"] == 200
    assert bodies == ["the body"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        pytest.param({"AWS_LAMBDA_FUNCTION_NAME": "filter"}, "set BERTH_AUTHENTICATION: basic or mtls", id="nothing"),
        pytest.param({"BERTH_ALLOW_LIST": "a"}, "set BERTH_AUTHENTICATION: basic or mtls", id="allow list, no mode"),
        pytest.param({"BERTH_AUTHENTICATION": "none"}, "Input should be 'basic' or 'mtls'", id="unknown mode"),
        pytest.param({"BERTH_AUTHENTICATION": "mtls"}, "set BERTH_CACHE_TABLE or BERTH_ALLOW_LIST", id="mtls, no list"),
        pytest.param({"BERTH_AUTHENTICATION": "basic", "BERTH_ALLOW_LIST": "a"}, "has no effect", id="list with basic"),
    ],
)
def test_does_not_start_with_ambiguous_authentication_settings(variables: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        EndpointSettings.from_environ(variables)


GO = {"accept-encoding": "gzip"}
LARGE = ["x" * COMPRESS_ABOVE_BYTES]


def test_compresses_large_responses_only_in_lambda() -> None:
    event = {"body": "", "headers": GO}
    in_lambda, _ = endpoint(reply(LARGE, BindOutcome.BOUND), IN_LAMBDA)
    assert in_lambda.handle(event)["headers"]["Content-Encoding"] == "gzip"
    elsewhere, _ = endpoint(reply(LARGE, BindOutcome.BOUND))
    assert elsewhere.handle(event)["isBase64Encoded"] is False


def test_reports_response_that_is_too_large_for_lambda(log_lines: LogLines) -> None:
    handled, _ = endpoint(reply(["x" * 6_000_000], BindOutcome.BOUND, pod="ml/p"), IN_LAMBDA)
    answer = handled.handle({"body": "", "headers": {}})
    assert answer["body"].startswith('{"Error":"the answer is larger than the 6 MB that Lambda returns; ')
    [line] = log_lines.all()
    assert (line["outcome"], line["pod"]) == ("failure-answer-too-large", "ml/p")


@pytest.mark.parametrize(
    ("waited", "remaining"), [pytest.param(0.0, 4.0, id="warm"), pytest.param(2.5, 1.5, id="after a cold start")]
)
def test_verb_gets_the_remaining_time_of_http_timeout(waited: float, remaining: float) -> None:
    clock, found = EnvironmentClock(), []

    def answering(body: str | bytes, *, deadline: Deadline) -> Reply:
        found.append(deadline.remaining())
        return reply({}, BindOutcome.BOUND)

    handled = VerbEndpoint("verb", NOBODY_CHECKED, answering, status_reply, clock=clock)
    handled.handle({"body": "", "requestContext": {"timeEpoch": (clock.wall() - waited) * 1000}})
    assert found == [pytest.approx(remaining, abs=0.001)]


@pytest.mark.parametrize(
    ("http_timeout", "began", "worked", "waited", "is_slow"),
    [
        pytest.param(5.0, 0.0, 3.7, 0.0, False, id="less than three quarters"),
        pytest.param(5.0, 0.0, 3.8, 0.0, True, id="three quarters"),
        pytest.param(5.0, 2.0, 1.8, 0.0, True, id="a cold start counts"),
        pytest.param(5.0, 0.0, 4.5, 0.0, True, id="beyond the deadline"),
        pytest.param(5.0, 0.0, 0.5, 3.4, False, id="the wait for a gang does not count"),
        pytest.param(30.0, 0.0, 1.5, 27.4, False, id="the longest wait"),
        pytest.param(30.0, 0.0, 22.6, 5.0, True, id="slow besides the wait"),
    ],
)
def test_counts_slow_calls_without_the_wait_for_a_gang(
    metrics: pytest.CaptureFixture[str], http_timeout: float, began: float, worked: float, waited: float, is_slow: bool
) -> None:
    clock = EnvironmentClock()

    def answering(body: str | bytes, *, deadline: Deadline) -> Reply:
        clock.advance(worked)
        wait_for_gang(waited, clock.advance)
        return reply({}, BindOutcome.BOUND)

    settings = EndpointSettings(http_timeout=http_timeout)
    handled = VerbEndpoint("bind", settings, answering, status_reply, clock=clock)
    handled.handle({"body": "", "requestContext": {"timeEpoch": (clock.wall() - began) * 1000}})
    [line] = printed(metrics)
    assert line.get("SlowCalls") == ([1.0] if is_slow else None)
    assert ("SlowCalls" in described(line)) is is_slow


class BrokenRecorder(DecisionRecorder):
    def __init__(self) -> None:
        self.calls = 0

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        self.calls += 1
        raise RuntimeError("disk full")


def test_failing_recorder_does_not_change_responses_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    broken = BrokenRecorder()
    verbs, undisturbed = Verbs([labelled("a", "1")], recorder=broken), Verbs([labelled("a", "1")])
    answers = [verbs.ask("filter", cache_mode(["a"])) for _ in range(3)]
    assert answers == [undisturbed.ask("filter", cache_mode(["a"]))] * 3
    assert broken.calls == 3
    assert [each.message for each in caplog.records] == ["decisions are not recorded: RuntimeError: disk full"]


HTTP_TIMEOUT = 5.0


def received(seconds_ago: float, clock: EnvironmentClock) -> dict[str, object]:
    """Return the event of a request that the gateway received this many seconds ago by the wall clock."""
    return {"requestContext": {"timeEpoch": round((clock.wall() - seconds_ago) * 1000)}}


@pytest.mark.parametrize(
    ("age", "remaining"),
    [
        pytest.param(0.0, 4.0, id="just arrived"),
        pytest.param(0.25, 3.75, id="an authorizer and a warm start"),
        pytest.param(3.5, 0.5, id="a cold start"),
        pytest.param(4.0, 0.0, id="the reserve has begun"),
        pytest.param(10.0, 0.0, id="the scheduler has given up"),
        pytest.param(LONGEST_WAIT_SECONDS, 0.0, id="the gateway still waits"),
        pytest.param(LONGEST_WAIT_SECONDS + 1, 4.0, id="the clocks differ"),
        pytest.param(86400.0, 4.0, id="an event from yesterday"),
        pytest.param(-0.2, 4.0, id="an event from the future"),
        pytest.param(-86400.0, 4.0, id="an event from tomorrow"),
    ],
)
def test_deadline_counts_from_the_gateways_time_within_bounds(age: float, remaining: float) -> None:
    clock = EnvironmentClock()
    deadline = call_deadline(received(age, clock), HTTP_TIMEOUT, clock)
    assert deadline.remaining() == pytest.approx(remaining, abs=0.002)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"requestContext": None},
        {"requestContext": {}},
        {"requestContext": {"timeEpoch": None}},
        {"requestContext": {"timeEpoch": "1700000000000"}},
        {"requestContext": {"timeEpoch": float("nan")}},
    ],
)
def test_deadline_counts_from_the_handler_if_the_event_lacks_a_time(event: dict[str, object]) -> None:
    assert call_deadline(event, HTTP_TIMEOUT, EnvironmentClock()).remaining() == 4.0


def test_deadline_uses_the_monotonic_clock() -> None:
    """Setting the wall clock during the call neither ends nor extends it."""
    clock = EnvironmentClock()
    deadline = call_deadline(received(1.0, clock), HTTP_TIMEOUT, clock)
    clock.advance(1.5)
    assert deadline.remaining() == pytest.approx(1.5, abs=0.002)
