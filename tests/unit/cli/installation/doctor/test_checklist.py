"""All checks together, on fakes: the findings of a misconfiguration, with the cause first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from berth.authentication.allow_list import AllowList
from berth.lease.lock import Lease, LeaseSpec
from berth.nodecache.feed.head import Head, Observation, Pointer, PublishedVersion, in_every_part
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.doctor.aws_account import AccountUnavailable, HeadItem, InspectionDenied, Schedule
from berth_cli.installation.doctor.checklist import run_checks
from berth_cli.installation.doctor.findings import CheckName, Finding, Result, failed
from berth_cli.installation.doctor.inputs import Inputs
from berth_cli.installation.extenders import ManagedResource, ManagedResources
from berth_cli.sources.server import HttpResponse, NoResponse
from tests.fakes.doctor import HEALTHY, NOW, FakeAccess, FakeAccount, FakeEndpoint, answered
from tests.unit.cli.installation.doctor.scheduler_documents import document, side

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
STALE_CHECKS = ("cache", "watcher", "filterVerb", "prioritizeVerb")
EMPTY = FakeEndpoint(
    verbs=STALE_VERBS, health=answered({"status": "failure-cache-unavailable", "reason": "no table"}, 503)
)


class WithoutTable(FakeAccount):
    def head(self) -> HeadItem | None:
        raise AccountUnavailable("the table does not exist")


class WithoutAllowList(FakeAccount):
    def allow_list(self) -> AllowList | None:
        raise AccountUnavailable("the table has no allow-list")


def stack(age: float, **fields: object) -> FakeAccount:
    newest = in_every_part(PublishedVersion(7, 3))
    pointer = Pointer(7, 3, newest, None, 0, 0, Observation("uid-of-the-cluster", {}), NOW - age, "0.1.0")
    lease = Lease(LeaseSpec("watcher-1", 15, NOW - 2 * HOUR, NOW - age, 3), 9, "u", "n")
    return FakeAccount(HeadItem(lease, Head("u", pointer)), **fields)  # type: ignore[arg-type]


def inputs(**fields: object) -> Inputs:
    """Return a correct installation of `berth serve`, with changes."""
    sound: dict[str, object] = {
        "scheduler_side": side(document(httpTimeout="5s")),
        "endpoint": running(),
        "reader": FakeAccess(nodes=NODES),
    }
    return Inputs(**{**sound, **fields})  # type: ignore[arg-type]


def diagnose(given: Inputs) -> list[Finding]:
    return list(run_checks(given, lambda: NOW))


def bad(findings: list[Finding]) -> list[str]:
    """Return the checks that failed or warned, in their order."""
    return list(dict.fromkeys(each.check for each in findings if each.result in (Result.FAILED, Result.WARNING)))


def test_correct_installation_passes_every_check() -> None:
    found = diagnose(inputs())
    assert not bad(found), found
    checked = {each.check for each in found if each.result is Result.OK}
    assert {"same-cluster", "policy", "schedulerName", "watcher-rights", "bind-rights"} <= checked


@dataclass(frozen=True)
class Case:
    """`check` fails first, with `message` in its text. `effects`: later checks that fail for the same cause."""

    given: Inputs
    check: str
    message: str
    effects: tuple[str, ...] = ()


CASES = {
    "a scheduler pointed at a server on a dump": Case(
        inputs(endpoint=running(cluster="dump-1")), "same-cluster", "Berth reads a dump"
    ),
    "no node that passes the policy": Case(
        inputs(endpoint=running({"filter": NONE_FITS})), "policy", "none of the 2 nodes passes"
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
        ("lease", *STALE_CHECKS),
    ),
    "an allow-list that is missing": Case(
        inputs(account=WithoutAllowList(stack(1).item)), "allow-list", "has no allow-list"
    ),
    "no watcher on a stack, for an unknown cause": Case(
        inputs(endpoint=STALE, account=stack(HOUR)), "lease", "no successor", STALE_CHECKS
    ),
    "no watcher of berth serve": Case(inputs(endpoint=STALE), "cache", "whenStale applies", STALE_CHECKS[1:]),
    "a missing table": Case(
        inputs(endpoint=EMPTY, account=WithoutTable()),
        "table",
        "does not exist",
        ("cache", "filterVerb", "prioritizeVerb"),
    ),
    "an API server that is away": Case(
        inputs(endpoint=STALE, reader=FakeAccess(unreachable="cannot be reached"), watcher=FakeAccess(unreachable="x")),
        "kubernetes-version",
        "cannot be reached",
        STALE_CHECKS,
    ),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_reports_the_cause_first(case: Case) -> None:
    found = diagnose(case.given)
    assert bad(found) == [case.check, *case.effects], found
    assert any(case.message in each.message for each in found if each.check == case.check), found


def test_reports_given_configuration_that_is_not_in_use() -> None:
    counted = side(document(ManagedResources((LICENCE,), counts_only=True), httpTimeout="5s"))
    found = diagnose(inputs(scheduler_side=counted, configuration=COUNTING, is_configuration_given=True))
    assert bad(found) == ["configuration"]


def test_reports_an_invalid_given_configuration_despite_a_valid_applied_one() -> None:
    given = failed(CheckName.CONFIGURATION, "berth.yaml:1: profile: unknown", "fix it")
    endpoint = running(configurationFallback="the plugin fails")
    found = diagnose(inputs(findings=(given,), is_configuration_given=True, endpoint=endpoint))
    assert [each.check for each in found if each.result is Result.FAILED] == [CheckName.CONFIGURATION] * 2


def test_does_not_check_the_callers_permissions_for_unknown_users() -> None:
    found = diagnose(inputs(endpoint=FakeEndpoint(verbs={"filter": FITS}, health=healthy())))
    skipped = {each.check for each in found if each.result is Result.SKIPPED}
    assert {"watcher-rights", "bind-rights"} <= skipped


class WithoutRights(FakeAccount):
    """A stack in an account whose limits the caller may not read, and whose schedule was deleted."""

    def schedules(self) -> list[Schedule]:
        raise AccountUnavailable("not found")

    def concurrent_executions(self) -> int:
        raise InspectionDenied("not allowed", "needs lambda:GetAccountSettings")


def test_skips_a_check_without_permission_but_fails_for_a_deleted_schedule() -> None:
    gangs = BerthConfiguration.model_validate({"gangs": {"enabled": True}})
    found = {each.check: each for each in diagnose(Inputs(account=WithoutRights(), configuration=gangs))}
    assert found[CheckName.GANGS].result is Result.SKIPPED
    assert found[CheckName.GANGS].remedy == "needs lambda:GetAccountSettings"
    assert found[CheckName.SCHEDULE].result is Result.FAILED
    assert "docs/how-to/recover.md" in found[CheckName.SCHEDULE].remedy
    assert "deploy" not in found[CheckName.SCHEDULE].remedy


def test_external_watcher_does_not_need_a_schedule() -> None:
    found = diagnose(Inputs(account=stack(1, scheduled=[]), watcher_mode="external"))
    assert [each.message for each in found if each.check is CheckName.SCHEDULE and each.result is Result.OK]


class Broken(FakeAccount):
    """An account with an answer that cannot be parsed."""

    def schedules(self) -> list[Schedule]:
        raise KeyError("x")


def test_exception_in_one_check_does_not_stop_other_checks() -> None:
    found = {each.check: each for each in diagnose(Inputs(account=Broken(stack(1).item)))}
    assert "KeyError" in found[CheckName.SCHEDULE].message
    assert found[CheckName.LEASE].result is Result.OK


def test_unreachable_server_is_reported_as_one_failure() -> None:
    silent = FakeEndpoint(verbs={"filter": NoResponse("no response in time")}, health=NoResponse("no response in time"))
    found = diagnose(inputs(endpoint=silent, reader=None))
    assert bad(found) == ["verbs"]


POOL = "example.com/seat@cluster"
FLOATING = BerthConfiguration.model_validate(
    {
        "profile": "managed-resources",
        "managedResources": [{"name": "example.com/seat", "capacity": {"value": 12, "scope": "cluster"}}],
    }
)


class Serving(FakeEndpoint):
    """A `berth serve` with this document of reservations."""

    reservations: HttpResponse | NoResponse

    def get(self, name: str, body: bytes | None = None) -> HttpResponse | NoResponse:
        return self.reservations if name == "reservations" else super().get(name, body)


class Owing(FakeAccount):
    """A stack whose pods hold too much of a pool, and of a resource that is not counted any more."""

    def owed(self) -> Mapping[str, int]:
        return {POOL: 2, "example.com/seat@namespace=ml": 0, "example.com/removed@cluster": 3}


@pytest.mark.parametrize(
    ("answer", "is_owed"),
    [
        pytest.param(answered({"pools": [{"pool": POOL, "owed": 2}]}), True, id="a pool that owes"),
        pytest.param(answered({"pools": [{"pool": POOL, "owed": 0}]}), False, id="a pool that does not"),
        pytest.param(answered({"nodes": []}), False, id="an earlier server"),
        pytest.param(answered({"message": "Not Found"}, 404), False, id="no such route"),
        pytest.param(NoResponse("no response in time"), False, id="no response"),
    ],
)
def test_warns_about_reservations_above_a_pools_capacity(answer: HttpResponse | NoResponse, is_owed: bool) -> None:
    endpoint = Serving(verbs={"filter": FITS}, health=healthy(configuration=FLOATING.model_dump(mode="json")))
    endpoint.reservations = answer
    found = [each.message for each in diagnose(inputs(endpoint=endpoint, reader=None)) if "beyond" in each.message]
    assert found == ([f"pods hold 2 of {POOL} beyond its capacity"] if is_owed else [])


def test_warns_about_reservations_above_the_capacity_of_a_stacks_pool() -> None:
    account = Owing(stack(1).item)
    found = diagnose(Inputs(account=account, configuration=FLOATING))
    assert [each.message for each in found if each.check is CheckName.MANAGED_RESOURCES] == [
        f"pods hold 2 of {POOL} beyond its capacity"
    ]
