"""What doctor says about Berth's address: verbs, times, certificates, cache and clock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from berth_cli.doctor.access.credentials import NO_MATERIAL, TLSMaterial
from berth_cli.doctor.access.endpoint import CertificateProblem, HttpResponse, NoResponse, ServerCertificate
from berth_cli.doctor.checks.cache import healthz
from berth_cli.doctor.checks.certificates import client_certificate, server_certificate
from berth_cli.doctor.checks.latency import CALLS, bind_time, latency
from berth_cli.doctor.checks.verbs import DEFAULT_VERBS, verbs
from berth_cli.doctor.findings import Result
from tests.builders.certificates import self_signed
from tests.fakes.doctor import HEALTHY, NOW, FakeEndpoint, answered
from tests.unit.cli.doctor.reading import expect, of

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED
DAY = 86400.0
BROKEN = NoResponse("the server closed the connection", connection_closed=True)


# ---------------------------------------------------------------------------------------------------------------- verbs
def test_verbs_that_answer() -> None:
    assert [finding.result for finding in verbs(FakeEndpoint(), DEFAULT_VERBS)] == [OK] * 4


def test_what_is_sent_names_no_real_pod_and_no_candidate() -> None:
    endpoint = FakeEndpoint()
    list(verbs(endpoint, DEFAULT_VERBS))
    sent = {name: orjson.loads(body) for name, body in endpoint.asked}
    assert sent["bind"] == {}
    assert sent["preempt"]["NodeNameToMetaVictims"] == {}
    assert sent["filter"]["Pod"]["metadata"]["uid"] == "berth-doctor"
    assert sent["filter"] == sent["prioritize"]


@pytest.mark.parametrize(
    ("field", "verb", "answer", "result", "message", "remedy"),
    [
        pytest.param(
            "prioritizeVerb", "priority", None, FAILED, "ignores this error", "set prioritizeVerb: prioritize",
            id="the verb that peers mistook",
        ),
        pytest.param("filterVerb", "filters", None, FAILED, "404", "set filterVerb: filter", id="a wrong name"),
        pytest.param("filterVerb", "filteronly", None, FAILED, "404", "filter_onlyone", id="the nearest of two"),
        pytest.param(
            "bindVerb", "bind", answered({}, 404), FAILED, "404", "ends in /scheduler", id="a right name elsewhere"
        ),
        pytest.param(
            "filterVerb", "filter", answered({"message": "Forbidden"}, 403), FAILED, "not authorized", "credentials",
            id="not authorized",
        ),
        pytest.param(
            "prioritizeVerb", "prioritize", answered({"Error": "stale"}, 500), FAILED, "stale", "log", id="a status 500"
        ),
        pytest.param("filterVerb", "filter", answered({}, 201), FAILED, "fact 3", "log", id="only 200 passes"),
        pytest.param("filterVerb", "filter", answered(b"<html>"), FAILED, "not JSON", "Berth", id="somebody else"),
        pytest.param(
            "filterVerb", "filter", answered({"Error": "the node cache is empty"}), FAILED, "the node cache is empty",
            "cache", id="filter's own Error",
        ),
        pytest.param(
            "prioritizeVerb", "prioritize", answered([{"Host": "a", "Score": 1.0}]), FAILED, "integer scores", "Berth",
            id="a score that Go does not take",
        ),
        pytest.param("prioritizeVerb", "prioritize", answered([]), FAILED, "no scores", "log", id="fact 28"),
        pytest.param("bindVerb", "bind", answered({"Error": ""}), WARNING, "not rejected", "Berth", id="binds nothing"),
    ],
)  # fmt: skip
def test_a_verb(field: str, verb: str, answer: HttpResponse | None, result: Result, message: str, remedy: str) -> None:
    endpoint = FakeEndpoint(verbs={} if answer is None else {verb: answer})
    [finding] = verbs(endpoint, {field: verb})
    assert (finding.result, message in finding.message, remedy in finding.remedy) == (result, True, True), finding


def test_an_address_that_does_not_answer_is_told_once() -> None:
    silent = FakeEndpoint(verbs={"filter": NoResponse("no response in time")})
    [finding] = verbs(silent, DEFAULT_VERBS)
    assert (finding.check, finding.result) == ("verbs", FAILED)
    assert len(silent.asked) == 1


# -------------------------------------------------------------------------------------------------------------- latency
@pytest.mark.parametrize(
    ("seconds", "timeout", "result", "message"),
    [
        pytest.param(0.02, 5.0, OK, "filter 20 ms, prioritize 20 ms", id="fast"),
        pytest.param(2.6, 5.0, WARNING, "a slow call may time out", id="more than half of the time"),
        pytest.param(5.0, 5.0, FAILED, "calls time out", id="all of the time"),
        pytest.param(0.02, 60.0, WARNING, "API Gateway ends requests after 30 s", id="longer than the gateway"),
    ],
)
def test_the_time_that_verbs_take(seconds: float, timeout: float, result: Result, message: str) -> None:
    slow = answered([], seconds=seconds)
    endpoint = FakeEndpoint(verbs={"filter": slow, "prioritize": slow})
    expect(latency(endpoint, DEFAULT_VERBS, ["a", "b"], timeout), "httpTimeout", result, message)


def test_it_is_measured_with_the_clusters_names_and_ended_when_it_is_clear() -> None:
    endpoint = FakeEndpoint(verbs={"prioritize": answered([], seconds=9.0)})
    list(latency(endpoint, DEFAULT_VERBS, ["a", "b"], 5.0))
    assert [name for name, _ in endpoint.asked] == ["filter"] * CALLS + ["prioritize"]
    assert orjson.loads(endpoint.asked[0][1])["NodeNames"] == ["a", "b"]


def test_without_answers_there_is_no_time() -> None:
    silent = FakeEndpoint(verbs={"filter": NoResponse("x"), "prioritize": answered({}, 500)})
    expect(latency(silent, DEFAULT_VERBS, [], 5.0), "httpTimeout", SKIPPED, "no verb responded")


@pytest.mark.parametrize(
    ("timeout", "of_stack", "message"),
    [
        pytest.param(1.5, None, "bind cannot respond in time", id="less than bind needs"),
        pytest.param(3.0, 5.0, "runs for up to 4 s", id="less than the stack was told"),
    ],
)
def test_the_time_that_bind_has(timeout: float, of_stack: float | None, message: str) -> None:
    expect(bind_time(timeout, of_stack), "httpTimeout", FAILED, message)
    assert list(bind_time(5.0, 5.0)) == []


# --------------------------------------------------------------------------------------------------------- certificates
@pytest.mark.parametrize(
    ("shown", "result", "message"),
    [
        pytest.param(ServerCertificate(NOW + 90 * DAY), OK, "valid for another 90 days", id="valid"),
        pytest.param(ServerCertificate(NOW + 5 * DAY), WARNING, "expires in 5 days", id="soon"),
        pytest.param(ServerCertificate(NOW - DAY, CertificateProblem.EXPIRED), FAILED, "has expired", id="expired"),
        pytest.param(ServerCertificate(NOW, CertificateProblem.OTHER_HOST), FAILED, "another host", id="another host"),
        pytest.param(
            ServerCertificate(NOW, CertificateProblem.UNKNOWN_AUTHORITY), FAILED, "authority", id="no CA for it"
        ),
        pytest.param(
            NoResponse("wrong version number", connection_closed=True), FAILED, "wrong version", id="no TLS there"
        ),
        pytest.param(NoResponse("connection refused"), SKIPPED, "see the check verbs", id="nobody there"),
        pytest.param(None, SKIPPED, "plain http, no certificate", id="http"),
    ],
)
def test_the_servers_certificate(shown: Any, result: Result, message: str) -> None:
    expect(server_certificate(FakeEndpoint(shown=shown), NOW), "server-certificate", result, message)


@pytest.fixture
def mine(tmp_path: Path) -> TLSMaterial:
    certificate, key = self_signed(tmp_path, "client")
    return TLSMaterial(certificate=certificate.read_bytes(), key=key.read_bytes())


@pytest.mark.parametrize(
    ("health", "result", "message"),
    [
        pytest.param(answered(HEALTHY), WARNING, "expires in 0 days", id="it is let in, and runs out"),
        pytest.param(
            NoResponse("TLS: tlsv1 alert unknown ca", connection_closed=True),
            FAILED,
            "unknown ca",
            id="another authority",
        ),
        pytest.param(answered({}, 403), FAILED, "not authorized", id="not on the list"),
    ],
)
def test_the_clients_certificate(health: Any, result: Result, message: str, mine: TLSMaterial) -> None:
    expect(client_certificate(FakeEndpoint(health=health), mine, time.time()), "client-certificate", result, message)


def test_an_expired_client_certificate(mine: TLSMaterial) -> None:
    expect(client_certificate(FakeEndpoint(), mine, time.time() + DAY), "client-certificate", FAILED, "expired")


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        pytest.param(FakeEndpoint(), "", id="nobody asks for one"),
        pytest.param(FakeEndpoint(health=BROKEN), "as if it required one", id="somebody does"),
        pytest.param(FakeEndpoint(health=NoResponse("no response in time")), "", id="no answer is no sign"),
        pytest.param(
            FakeEndpoint(health=BROKEN, shown=ServerCertificate(NOW, CertificateProblem.EXPIRED)),
            "",
            id="the server's own fault",
        ),
    ],
)
def test_no_client_certificate(endpoint: FakeEndpoint, message: str) -> None:
    found = list(client_certificate(endpoint, NO_MATERIAL, NOW))
    if message:
        expect(found, "client-certificate", FAILED, message)
    else:
        assert found == []


# ------------------------------------------------------------------------------------------------ cache, watcher, clock
def test_a_healthy_cache() -> None:
    assert {finding.result for finding in healthz(FakeEndpoint())} == {OK}


@pytest.mark.parametrize(
    ("health", "check", "result", "message"),
    [
        pytest.param(
            answered({"status": "failure-cache-unavailable", "reason": "the node cache is empty"}, 503),
            "cache", FAILED, "the node cache is empty", id="Berth's own reason",
        ),
        pytest.param(
            answered({**HEALTHY, "observedAgeSeconds": 200.0}, 503), "cache", FAILED, "200.0 s old", id="too old"
        ),
        pytest.param(answered({**HEALTHY, "observedAgeSeconds": 100.0}), "cache", WARNING, "100.0 s old", id="ageing"),
        pytest.param(
            answered({**HEALTHY, "observedAgeSeconds": -20.0}), "cache", WARNING, "clock is ahead", id="from the future"
        ),
        pytest.param(
            answered({**HEALTHY, "heartbeatAgeSeconds": 400.0}), "watcher", FAILED, "no watcher is", id="no watcher"
        ),
        pytest.param(answered({"message": "Forbidden"}, 403), "cache", FAILED, "status 403", id="not authorized"),
        pytest.param(answered(b"ok"), "cache", FAILED, "not a response of Berth", id="somebody else"),
        pytest.param(NoResponse("no response in time"), "cache", FAILED, "no response in time", id="nobody"),
        pytest.param(answered(HEALTHY, ahead=3.0), "clock", OK, "agrees", id="seconds are not told exactly"),
        pytest.param(answered(HEALTHY, ahead=9.0, seconds=9.0), "clock", OK, "agrees", id="a slow answer tells less"),
        pytest.param(answered(HEALTHY, ahead=60.0), "clock", WARNING, "60 s ahead", id="a minute"),
        pytest.param(answered(HEALTHY, ahead=-400.0), "clock", FAILED, "400 s behind", id="AWS would refuse"),
        pytest.param(answered(HEALTHY, ahead=None), "clock", SKIPPED, "sends no Date header", id="no Date"),
    ],
)  # fmt: skip
def test_healthz(health: Any, check: str, result: Result, message: str) -> None:
    found = list(healthz(FakeEndpoint(health=health)))
    expect(found, check, result, message)
    assert len(of(found, check)) == 1
