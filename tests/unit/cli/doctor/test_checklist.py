"""All checks together, on fakes: a misconfiguration has one finding, and the rest is ok or refers to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from berth.lease.record import Lease, LeaseSpec
from berth.nodecache.feed.head import Head, Observation, Pointer, PublishedVersion, in_every_part
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.plugins.custom_plugins.loading import MISSING_REMEDY
from berth_cli.doctor.access.account import AccountUnavailable, FunctionState, HeadItem, Schedule
from berth_cli.doctor.access.cluster import UntriedPod
from berth_cli.doctor.access.endpoint import HttpResponse, NoResponse
from berth_cli.doctor.checklist import checks
from berth_cli.doctor.findings import CheckName, Finding, Result, failed
from berth_cli.doctor.inputs import Inputs
from berth_cli.doctor.runner import run_checks
from berth_cli.scheduler_config.managed_resources import ManagedResource, ManagedResources
from tests.fakes.doctor import HEALTHY, NOW, FakeAccess, FakeAccount, FakeEndpoint, answered
from tests.unit.cli.doctor.scheduler_documents import document, side

HOUR = 3600.0
LICENCE = ManagedResource("example.com/licence")
COUNTING = BerthConfiguration.model_validate(
    {"profile": "managed-resources", "managedResources": [{"name": LICENCE.name}]}
)
NODES = ("a", "b")
FITS = answered({"NodeNames": ["a"], "FailedNodes": {}, "Error": ""})
NONE_FITS = answered(
    {"NodeNames": [], "FailedNodes": {"a": "no label"}, "FailedAndUnresolvableNodes": {"b": "no label"}, "Error": ""}
)


def healthy(**fields: object) -> HttpResponse:
    return answered({**HEALTHY, "cluster": "uid-of-the-cluster", "configuration": {}, **fields})


def running(verbs: Mapping[str, HttpResponse | NoResponse] | None = None, **fields: object) -> FakeEndpoint:
    users = answered({"watcher": {"username": "berth-watcher"}, "binder": {"username": "berth-binder"}})
    return FakeEndpoint(verbs={"filter": FITS, **(verbs or {})}, health=healthy(**fields), named_users=users)


STALE_VERBS = {
    "filter": answered({"NodeNames": None, "Error": "the node cache is 3600 s old"}),
    "prioritize": answered(b"", 503),
}
STALE = running(STALE_VERBS, observedAgeSeconds=HOUR, heartbeatAgeSeconds=HOUR)
EMPTY = FakeEndpoint(
    verbs=STALE_VERBS, health=answered({"status": "failure-cache-unavailable", "reason": "no table"}, 503)
)


class WithoutTable(FakeAccount):
    """A stack whose table was deleted."""

    def head(self) -> HeadItem | None:
        raise AccountUnavailable("the table does not exist")


def stack(age: float, **fields: object) -> FakeAccount:
    newest = in_every_part(PublishedVersion(7, 3))
    pointer = Pointer(7, 3, newest, None, 0, 0, Observation("uid-of-the-cluster", {}), NOW - age, "0.1.0")
    lease = Lease(LeaseSpec("watcher-1", 15, NOW - 2 * HOUR, NOW - age, 3), 9, "u", "n")
    return FakeAccount(HeadItem(lease, Head("u", pointer)), **fields)  # type: ignore[arg-type]


def inputs(**fields: object) -> Inputs:
    """A correct installation of `berth serve`, with changes."""
    sound: dict[str, object] = {
        "scheduler_side": side(document(httpTimeout="5s")),
        "endpoint": running(),
        "reader": FakeAccess(nodes=NODES),
    }
    return Inputs(**{**sound, **fields})  # type: ignore[arg-type]


def diagnose(given: Inputs) -> list[Finding]:
    return run_checks(checks(given, lambda: NOW), timeout=60)


def bad(findings: list[Finding]) -> set[str]:
    return {each.check for each in findings if each.result in (Result.FAILED, Result.WARNING)}


def test_correct_installation_has_no_finding() -> None:
    found = diagnose(inputs())
    assert not bad(found), found
    checked = {each.check for each in found if each.result is Result.OK}
    assert {"same-cluster", "policy", "schedulerName", "watcher-rights", "bind-rights"} <= checked


@dataclass(frozen=True)
class Case:
    """`check`: the only finding. `message`: a part of it."""

    given: Inputs
    check: str
    message: str


CASES = {
    "a scheduler pointed at a server on a dump": Case(
        inputs(endpoint=running(cluster="dump-1")), "same-cluster", "Berth reads a dump"
    ),
    "a server on a dump without a kubeconfig": Case(
        inputs(endpoint=running(cluster="dump-1"), reader=None), "same-cluster", "Berth reads a dump"
    ),
    "a server of another cluster": Case(
        inputs(endpoint=running(cluster="other")), "same-cluster", "the cache is of cluster other"
    ),
    "no node that passes the policy": Case(
        inputs(endpoint=running({"filter": NONE_FITS})), "policy", "none of the 2 nodes passes"
    ),
    "pending pods of a misspelled scheduler": Case(
        inputs(reader=FakeAccess(nodes=NODES, untried=[UntriedPod("team-a", "p", "default-schedular", NOW - HOUR)])),
        "schedulerName",
        "no scheduler named default-schedular has tried team-a/p",
    ),
    "a profile with a misspelled default name": Case(
        inputs(
            scheduler_side=side(document(httpTimeout="5s") | {"profiles": [{"schedulerName": "defualt-scheduler"}]})
        ),
        "schedulerName",
        "looks like default-scheduler",
    ),
    "a scheduler that ignores what the running Berth does not count": Case(
        inputs(scheduler_side=side(document(ManagedResources((LICENCE,)), httpTimeout="5s"))),
        "managedResources",
        "licence is ignored by the scheduler but not counted by Berth",
    ),
    "another user's rights": Case(
        inputs(reader=FakeAccess(nodes=NODES, forbidden_to={"berth-watcher": lambda right: right.resource == "nodes"})),
        "watcher-rights",
        "berth-watcher may not list nodes",
    ),
    "a schedule that is disabled": Case(
        inputs(endpoint=STALE, account=stack(HOUR, scheduled=[Schedule("every-minute", "DISABLED", "rate")])),
        "schedule",
        "nothing starts the watcher",
    ),
    "a watcher that never runs": Case(
        inputs(endpoint=STALE, account=stack(HOUR, deployed=[FunctionState("WatcherFunction", "Active", "", 0)])),
        "functions",
        "WatcherFunction: its reserved concurrency is 0",
    ),
    "no watcher on a stack, for an unknown cause": Case(
        inputs(endpoint=STALE, account=stack(HOUR)), "lease", "no successor"
    ),
    "no watcher of berth serve": Case(inputs(endpoint=STALE), "watcher", "no watcher is running"),
    "a missing table": Case(
        inputs(endpoint=EMPTY, account=WithoutTable()),
        "table",
        "does not exist",
    ),
    "an API server that is away": Case(
        inputs(endpoint=STALE, reader=FakeAccess(unreachable="cannot be reached"), watcher=FakeAccess(unreachable="x")),
        "kubernetes-version",
        "cannot be reached",
    ),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_reports_one_cause(case: Case) -> None:
    found = diagnose(case.given)
    assert bad(found) == {case.check}, found
    assert any(case.message in each.message for each in found if each.check == case.check), found


def test_effect_names_the_check_of_its_cause() -> None:
    found = diagnose(CASES["a schedule that is disabled"].given)
    skipped = {each.check: each.message for each in found if each.result is Result.SKIPPED}
    for check in (
        CheckName.LEASE,
        CheckName.WATCHER,
        CheckName.CACHE,
        CheckName.FILTER_VERB,
        CheckName.PRIORITIZE_VERB,
    ):
        assert skipped[check].endswith("see the check schedule"), skipped


def test_given_configuration_that_is_not_in_use_is_reported() -> None:
    counted = side(document(ManagedResources((LICENCE,), counts_only=True), httpTimeout="5s"))
    found = diagnose(inputs(scheduler_side=counted, configuration=COUNTING, is_configuration_given=True))
    assert bad(found) == {"configuration", "managedResources"}


MISSING = f"No module named 'berth_plugins.mine'; {MISSING_REMEDY}"
FAILS = "plugin berth_plugins.mine:Mine failed in __init__: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("here", "there", "reported"),
    [
        pytest.param(FAILS, FAILS, ["there"], id="the document fails here and there"),
        pytest.param(f"{FAILS} (here)", FAILS, ["there"], id="in other words"),
        pytest.param(MISSING, MISSING, ["there"], id="nobody has the plugin"),
        pytest.param(MISSING, FAILS, ["here", "there"], id="only doctor lacks the plugin"),
        pytest.param(FAILS, "", ["here"], id="it fails only here"),
        pytest.param("", FAILS, ["there"], id="it fails only there"),
    ],
)
def test_reports_once_that_the_applied_document_cannot_be_loaded(here: str, there: str, reported: list[str]) -> None:
    findings = (failed(CheckName.CONFIGURATION, here, "apply a valid one"),) if here else ()
    loaded = None if here else BerthConfiguration()
    endpoint = running(configurationFallback=f"{there}; version 1 is used instead" if there else "")
    found = diagnose(inputs(findings=findings, configuration=loaded, endpoint=endpoint))
    messages = {"here": here, "there": f"the applied configuration is not in use: {there}; version 1 is used instead"}
    assert [each.message for each in found if each.result is Result.FAILED] == [messages[name] for name in reported]


def test_reports_given_configuration_that_is_invalid_beside_the_applied_one() -> None:
    given = failed(CheckName.CONFIGURATION, "berth.yaml:1: profile: unknown", "fix it")
    endpoint = running(configurationFallback=FAILS)
    found = diagnose(inputs(findings=(given,), is_configuration_given=True, endpoint=endpoint))
    assert [each.check for each in found if each.result is Result.FAILED] == [CheckName.CONFIGURATION] * 2


def test_rights_of_unknown_users_are_not_those_of_the_caller() -> None:
    found = diagnose(inputs(endpoint=FakeEndpoint(verbs={"filter": FITS}, health=healthy())))
    skipped = {each.check for each in found if each.result is Result.SKIPPED}
    assert {"watcher-rights", "bind-rights"} <= skipped
