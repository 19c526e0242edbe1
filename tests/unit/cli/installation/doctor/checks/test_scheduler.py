"""The checks of the scheduler's configuration: document, extender entries, encryption, verification, passwords, counted
resources and gangs."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.installation.doctor.checks.scheduler import (
    check_bound_schedulers,
    check_document,
    check_gang_scheduling,
    check_managed_resources,
    check_transport,
)
from berth_cli.installation.doctor.findings import Finding, Result
from berth_cli.installation.extenders import ExtenderOptions, ManagedResource, ManagedResources, Verb, extenders
from tests.builders.gangs import ENABLED
from tests.fakes.doctor import ADDRESS
from tests.unit.cli.installation.doctor.finding_assertions import expect
from tests.unit.cli.installation.doctor.scheduler_documents import document, side

PERCENT = "percentageOfNodesToScore"
FAILED, WARNING, OK = Result.FAILED, Result.WARNING, Result.OK


SECOND: dict[str, Any] = {"profiles": [{"schedulerName": "mine"}]}
LOCK = {"leaderElection": {"resourceName": "mine"}}


def findings(found: dict[str, Any], address: str = ADDRESS) -> list[Finding]:
    """Return the findings about the document and the transport."""
    read = side(found, address)
    return [*check_document(read, address), *check_transport(read)]


def test_passes_for_output_of_scheduler_config() -> None:
    assert {finding.result for finding in findings(document())} == {OK}


@pytest.mark.parametrize(
    ("changed", "check", "result", "message"),
    [
        pytest.param({PERCENT: None}, PERCENT, FAILED, "not set for default-scheduler", id="a sample by default"),
        pytest.param({PERCENT: 0}, PERCENT, FAILED, "0 for default-scheduler", id="0 is also the default"),
        pytest.param({"profiles": [{PERCENT: 50}]}, PERCENT, FAILED, "50 for", id="the profile's takes precedence"),
        pytest.param({PERCENT: 5, "profiles": [{PERCENT: 100}]}, PERCENT, OK, "all nodes", id="even if it is right"),
        pytest.param(SECOND, "leaderElection", FAILED, "waits for it forever", id="the first scheduler's lock"),
        pytest.param({**SECOND, **LOCK}, "leaderElection", OK, "kube-system/mine", id="a separate lock"),
        pytest.param(
            {"leaderElection": {"leaderElect": False}}, "leaderElection", OK, "leaderElect: false", id="no lock"
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
        pytest.param({"ignorable": True}, "bindVerb", FAILED, "fact 24", id="ignorable, and binds"),
        pytest.param({"ignorable": True, "bindVerb": None}, "ignorable", WARNING, "fact 39", id="ignorable"),
        pytest.param({"bindVerb": None}, "bindVerb", OK, "the scheduler binds", id="no bind"),
    ],
)
def test_checks_each_field_of_the_extender(entry: dict[str, Any], check: str, result: Result, message: str) -> None:
    found = findings(document(**entry), str(entry.get("urlPrefix", ADDRESS)))
    expect(found, check, result, message)
    assert "hidden" not in str(found)


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
        pytest.param({"urlPrefix": "http://berth/scheduler"}, "urlPrefix", WARNING, "http", id="plain http"),
        pytest.param({"urlPrefix": "http://127.0.0.1/scheduler"}, "urlPrefix", OK, "loopback only", id="loopback http"),
        pytest.param(
            {"urlPrefix": "http://127.0.0.1/scheduler", "enableHTTPS": True},
            "urlPrefix",
            FAILED,
            "nothing is encrypted (fact 36)",
            id="enableHTTPS does not change the scheme",
        ),
        pytest.param({"urlPrefix": "https://u:hidden@berth/scheduler"}, "credentials", WARNING, "fact 37", id="secret"),
    ],
)
def test_checks_transport_security_and_credentials_of_the_extender_entry(
    entry: dict[str, Any], check: str, result: Result, message: str
) -> None:
    found = findings(document(**entry), str(entry.get("urlPrefix", ADDRESS)))
    expect(found, check, result, message)
    assert "hidden" not in str(found)


LICENCE, OTHER = ManagedResource("example.com/licence"), ManagedResource("example.com/slot")
ONLY, BESIDE = ManagedResources((LICENCE,), counts_only=True), ManagedResources((LICENCE,))
BOTH, RULES = ManagedResources((LICENCE, OTHER)), ManagedResources((LICENCE,), rules_about_pods=True)
BY_ANNOTATION = ManagedResources((LICENCE,), counts_only=True, by_annotation=True)


@pytest.mark.parametrize("by_annotation", [True, False])
@pytest.mark.parametrize("counts_only", [True, False])
@pytest.mark.parametrize("resources", [(), (LICENCE, ManagedResource("example.com/gpu", ignored_by_scheduler=False))])
def test_passes_for_counted_resources_in_output_of_scheduler_config(
    resources: tuple[ManagedResource, ...], counts_only: bool, by_annotation: bool
) -> None:
    managed = ManagedResources(resources, counts_only=counts_only, by_annotation=by_annotation)
    found = list(check_managed_resources(side(document(managed)), managed))
    assert [finding.result for finding in found] == [OK], found


@pytest.mark.parametrize(
    ("printed_for", "managed", "result", "message"),
    [
        pytest.param(ManagedResources(), BESIDE, WARNING, "not ignored by the scheduler", id="forgotten"),
        pytest.param(BESIDE, ManagedResources(), FAILED, "not counted by Berth", id="ignored and not counted"),
        pytest.param(ONLY, BESIDE, FAILED, "its policy is for all pods", id="fact 7"),
        pytest.param(BESIDE, BOTH, FAILED, "are not bound by Berth", id="a resource missing in bind"),
        pytest.param(ONLY, BY_ANNOTATION, FAILED, "by annotation are not sent to bind", id="it opens no entry"),
        pytest.param(BESIDE, RULES, WARNING, "best effort", id="pods not passed to bind"),
    ],
)
def test_compares_managed_resources_with_counted_resources(
    printed_for: ManagedResources, managed: ManagedResources, result: Result, message: str
) -> None:
    expect(check_managed_resources(side(document(printed_for)), managed), "managedResources", result, message)


def test_fails_if_berth_does_not_bind_counted_resources() -> None:
    managed = ManagedResources((LICENCE,), counts_only=True)
    found = document() | {
        "extenders": extenders(ExtenderOptions(url_prefix=ADDRESS, managed=managed, verbs=frozenset()))
    }
    expect(check_managed_resources(side(found), managed), "managedResources", FAILED, "nothing is counted")


@pytest.mark.parametrize(
    ("verbs", "managed", "warns"),
    [
        pytest.param(frozenset({Verb.FILTER}), ManagedResources(rules_about_pods=True), True, id="another binds"),
        pytest.param(frozenset(Verb), ManagedResources(rules_about_pods=True), False, id="Berth binds"),
        pytest.param(frozenset({Verb.FILTER}), ManagedResources(), False, id="no such rule"),
    ],
)
def test_rules_about_pods_are_best_effort_if_berth_does_not_bind(
    verbs: frozenset[Verb], managed: ManagedResources, warns: bool
) -> None:
    found = document() | {"extenders": extenders(ExtenderOptions(url_prefix=ADDRESS, managed=managed, verbs=verbs))}
    [finding] = check_managed_resources(side(found), managed)
    assert (finding.result is WARNING, "Berth does not bind: rules" in finding.message) == (warns, warns)


@pytest.mark.parametrize(
    ("managed", "changes", "result", "message"),
    [
        pytest.param(ManagedResources(gangs=True), {}, Result.OK, "every pod", id="output of scheduler-config"),
        pytest.param(ManagedResources((LICENCE,), gangs=True), {}, OK, "every pod", id="with counted resources"),
        pytest.param(BESIDE, {}, Result.FAILED, "only pods that request a managed resource", id="printed ungrouped"),
        pytest.param(ManagedResources(), {"bindVerb": None}, Result.FAILED, "does not bind", id="no bind"),
        pytest.param(ManagedResources(), {"filterVerb": None}, Result.FAILED, "gangs have no plan", id="no filter"),
        pytest.param(
            ManagedResources(), {"httpTimeout": "3s"}, Result.WARNING, "lets a member wait 0.5 s", id="a short time"
        ),
    ],
)
def test_reports_settings_that_gangs_need(
    managed: ManagedResources, changes: dict[str, Any], result: Result, message: str
) -> None:
    expect(check_gang_scheduling(side(document(managed, **changes)), ENABLED), "gangs", result, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"podMaxBackoffSeconds": 60}, "after up to 60 s", id="a longer backoff"),
        pytest.param({}, "after up to 10 s", id="kube-scheduler's default backoff"),
    ],
)
def test_warns_about_a_long_backoff(changes: dict[str, int], message: str) -> None:
    found = side({**document(), **changes})
    expect(check_gang_scheduling(found, ENABLED), "gangs", Result.WARNING, message)


def test_fails_if_the_deployment_does_not_name_a_scheduler_that_calls_bind() -> None:
    expect(check_bound_schedulers(side(), {"berth-scheduler"}), "bindVerb", FAILED, "the pods of default-scheduler")
    assert list(check_bound_schedulers(side(), {"default-scheduler", "berth-scheduler"})) == []


def test_does_not_check_gangs_if_they_are_disabled() -> None:
    assert list(check_gang_scheduling(side(document(bindVerb=None)), GangsConfiguration())) == []
