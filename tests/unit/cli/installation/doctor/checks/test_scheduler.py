"""The checks of the scheduler's configuration: document, extender entries, encryption, verification and passwords."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.installation.doctor.checks.scheduler import check_document, check_extenders, check_transport
from berth_cli.installation.doctor.findings import Finding, Result
from tests.fakes.doctor import ADDRESS
from tests.unit.cli.installation.doctor.finding_assertions import expect
from tests.unit.cli.installation.doctor.scheduler_documents import document, side

FAILED, WARNING, OK = Result.FAILED, Result.WARNING, Result.OK


def findings(found: dict[str, Any], address: str = ADDRESS) -> list[Finding]:
    """Return the findings of every check that reads the configuration."""
    read = side(found, address)
    return [*check_document(read, address), *check_extenders(read), *check_transport(read)]


def test_passes_for_output_of_scheduler_config() -> None:
    assert {finding.result for finding in findings(document())} == {OK}


@pytest.mark.parametrize(
    ("changed", "check", "result", "message"),
    [
        pytest.param(
            {"percentageOfNodesToScore": None},
            "percentageOfNodesToScore",
            FAILED,
            "not set for default-scheduler",
            id="a sample of the nodes by default",
        ),
        pytest.param(
            {"percentageOfNodesToScore": 0},
            "percentageOfNodesToScore",
            FAILED,
            "0 for default-scheduler",
            id="0 is also the default",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "a", "percentageOfNodesToScore": 50}]},
            "percentageOfNodesToScore",
            FAILED,
            "50 for a",
            id="the profile's own value takes precedence",
        ),
        pytest.param(
            {"percentageOfNodesToScore": 5, "profiles": [{"percentageOfNodesToScore": 100}]},
            "percentageOfNodesToScore",
            OK,
            "all nodes",
            id="the profile's own value takes precedence if it is right",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "mine"}]},
            "leaderElection",
            FAILED,
            "waits for it forever",
            id="a second scheduler on the first one's lock",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "mine"}], "leaderElection": {"resourceName": "mine"}},
            "leaderElection",
            OK,
            "kube-system/mine",
            id="a separate lock",
        ),
        pytest.param(
            {"leaderElection": {"leaderElect": False}}, "leaderElection", WARNING, "would both schedule", id="no lock"
        ),
        pytest.param({"extenders": []}, "extender", FAILED, "no extender that calls", id="Berth is not configured"),
    ],
)
def test_checks_each_field_of_the_document(changed: dict[str, Any], check: str, result: Result, message: str) -> None:
    found = {key: value for key, value in (document() | changed).items() if value is not None}
    expect(findings(found), check, result, message)


@pytest.mark.parametrize(
    ("entry", "check", "result", "message"),
    [
        pytest.param({"nodeCacheCapable": False}, "nodeCacheCapable", WARNING, "fact 13", id="full mode"),
        pytest.param({"nodeCacheCapable": None}, "nodeCacheCapable", WARNING, "fact 13", id="full mode by default"),
        pytest.param({"weight": None}, "weight", FAILED, "does not start (fact 35)", id="no weight"),
        pytest.param({"weight": 3}, "weight", OK, "score x 30", id="a weight"),
        pytest.param({"ignorable": True}, "bindVerb", FAILED, "fact 24", id="ignorable, and binds"),
        pytest.param({"ignorable": True, "bindVerb": None}, "ignorable", WARNING, "fact 39", id="ignorable"),
        pytest.param({"bindVerb": None}, "bindVerb", OK, "the scheduler binds", id="no bind"),
    ],
)
def test_checks_each_field_of_the_extender(entry: dict[str, Any], check: str, result: Result, message: str) -> None:
    found = findings(document(**entry), str(entry.get("urlPrefix", ADDRESS)))
    expect(found, check, result, message)
    assert "hidden" not in str(found)


def test_fails_for_two_binding_extenders() -> None:
    found = document()
    found["extenders"].append({"urlPrefix": "http://other", "bindVerb": "bind"})
    expect(findings(found), "bindVerb", FAILED, "2 extenders bind")


@pytest.mark.parametrize(
    ("entry", "check", "result", "message"),
    [
        pytest.param({"enableHTTPS": True}, "verification", FAILED, "disables the verification", id="fact 36"),
        pytest.param(
            {"enableHTTPS": True, "tlsConfig": {"certFile": "a", "keyFile": "b"}},
            "verification",
            FAILED,
            "disables the verification",
            id="fact 36 with a client certificate",
        ),
        pytest.param(
            {"enableHTTPS": True, "tlsConfig": {"caFile": "ca"}}, "verification", OK, "tlsConfig's CA", id="with a CA"
        ),
        pytest.param({"tlsConfig": {"insecure": True}}, "verification", FAILED, "can impersonate Berth", id="insecure"),
        pytest.param(
            {"tlsConfig": {"certFile": "a"}}, "tlsConfig", FAILED, "without its key", id="certificate without key"
        ),
        pytest.param({"urlPrefix": "http://berth/scheduler"}, "urlPrefix", WARNING, "http", id="plain http"),
        pytest.param({"urlPrefix": "http://127.0.0.1/scheduler"}, "urlPrefix", OK, "loopback only", id="loopback http"),
        pytest.param(
            {"urlPrefix": "http://127.0.0.1/scheduler", "enableHTTPS": True},
            "urlPrefix",
            FAILED,
            "nothing is encrypted (fact 36)",
            id="enableHTTPS does not change the scheme",
        ),
        pytest.param(
            {"urlPrefix": "https://u:hidden@berth/scheduler"}, "credentials", WARNING, "fact 37", id="a password"
        ),
    ],
)
def test_reports_transport_of_extender(entry: dict[str, Any], check: str, result: Result, message: str) -> None:
    found = findings(document(**entry), str(entry.get("urlPrefix", ADDRESS)))
    expect(found, check, result, message)
    assert "hidden" not in str(found)
