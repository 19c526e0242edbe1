"""The checks of the cluster: version, permissions, wake-up and identity."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from berth.scheduling.configuration.document import BerthConfiguration, WakeUp
from berth_cli.installation.doctor.checks.cluster import (
    BINDER_PERMISSIONS,
    COUNTED_REMEDY,
    EVERYBODY,
    EVERYBODY_REMEDY,
    REMEDY,
    binder_permissions,
    check_cluster_of,
    check_kubernetes_version,
    check_permissions,
    check_wake_up,
    watcher_permissions,
)
from berth_cli.installation.doctor.cluster_access import Permission
from berth_cli.installation.doctor.findings import CheckName, Result
from berth_cli.sources.server import RunningBerth
from tests.conftest import PROJECT
from tests.fakes.doctor import FakeAccess
from tests.unit.cli.installation.doctor.finding_assertions import expect

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED
RBAC = PROJECT / "examples" / "rbac.yaml"
COUNTED = PROJECT / "examples" / "rbac-counted-resources.yaml"
DEFAULT = BerthConfiguration()
SPREADING = BerthConfiguration(profile="full")
SPREADING_AND_GANGS = BerthConfiguration.model_validate({"profile": "full", "gangs": {"enabled": True}})
COUNTING = BerthConfiguration.model_validate(
    {"profile": "managed-resources", "managedResources": [{"name": "example.com/licence"}]}
)


def documented(role: str, path: Path = RBAC, kinds: tuple[str, ...] = ("ClusterRole",)) -> set[str]:
    """Return the permissions that the example grants, as verb, resource and name."""
    found = set()
    for document in yaml.safe_load_all(path.read_text()):
        if document["kind"] in kinds and document["metadata"]["name"] == role:
            for rule in document["rules"]:
                for verb in rule["verbs"]:
                    for resource in rule["resources"]:
                        found.add(f"{verb} {rule['apiGroups'][0]}/{resource} {rule.get('resourceNames', [''])[0]}")
    return found


def asked(wanted: list[Permission]) -> set[str]:
    parts = {each: each.resource + (f"/{each.subresource}" if each.subresource else "") for each in wanted}
    return {f"{each.verb} {each.group}/{parts[each]} {each.name}" for each in wanted}


def test_required_permissions_match_rbac_example() -> None:
    assert asked(watcher_permissions(SPREADING_AND_GANGS)) == documented("berth-watcher")
    assert asked(binder_permissions(SPREADING)) == documented("berth-binder")


def test_counted_resources_require_the_permissions_of_their_rbac_example() -> None:
    own = documented("berth-watcher-counted-resources", COUNTED, ("ClusterRole", "Role"))
    assert asked(watcher_permissions(COUNTING)) - asked(watcher_permissions(DEFAULT)) == own
    own = documented("berth-binder-counted-resources", COUNTED, ("Role",))
    assert asked(binder_permissions(COUNTING)) - asked(binder_permissions(DEFAULT)) == own
    access = FakeAccess(forbidden=lambda right: right.verb in ("get", "patch") and right.resource == "pods")
    found = list(check_permissions(CheckName.WATCHER_RIGHTS, access, watcher_permissions(COUNTING)))
    assert {finding.remedy for finding in found} == {COUNTED_REMEDY}
    access = FakeAccess(forbidden=lambda right: right.verb == "get")
    found = list(check_permissions(CheckName.BIND_RIGHTS, access, binder_permissions(COUNTING)))
    assert [finding.remedy for finding in found] == [REMEDY, COUNTED_REMEDY]


def test_reports_each_missing_permission_with_its_user() -> None:
    access = FakeAccess(forbidden=lambda right: right.verb == "watch" and right.resource in ("nodes", "pods"))
    found = list(check_permissions(CheckName.WATCHER_RIGHTS, access, watcher_permissions(DEFAULT)))
    assert [finding.message for finding in found] == [
        "system:serviceaccount:kube-system:berth may not watch nodes",
        "system:serviceaccount:kube-system:berth may not watch pods",
    ]


@pytest.mark.parametrize(
    "name", [*sorted(EVERYBODY), pytest.param("system:serviceaccounts:ml", id="the service accounts of a namespace")]
)
@pytest.mark.parametrize("is_allowed", [True, False])
def test_does_not_propose_granting_a_permission_to_a_shared_user(name: str, is_allowed: bool) -> None:
    access = FakeAccess(name=name, forbidden=lambda right: not is_allowed)
    [found] = check_permissions(CheckName.BIND_RIGHTS, access, BINDER_PERMISSIONS)
    assert (found.result, found.remedy) == (FAILED, EVERYBODY_REMEDY)


@pytest.mark.parametrize(
    ("access", "how", "result", "message"),
    [
        pytest.param(FakeAccess(), WakeUp.OBJECT, OK, "the wake-up of the scheduling queue works", id="object exists"),
        pytest.param(FakeAccess(wake_up_error="forbidden"), WakeUp.OBJECT, FAILED, "after minutes", id="no object"),
        pytest.param(FakeAccess(wake_up_error="forbidden"), WakeUp.NONE, SKIPPED, "wakeUp: none", id="wake-up off"),
    ],
)
def test_reports_whether_wake_up_object_exists(access: FakeAccess, how: WakeUp, result: Result, message: str) -> None:
    expect([check_wake_up(access, how)], "wake-up", result, message)


@pytest.mark.parametrize(
    ("running", "access", "result", "message"),
    [
        pytest.param(RunningBerth("dump-1"), None, FAILED, "Berth reads a dump", id="a dump behind a scheduler"),
        pytest.param(RunningBerth("dump-1"), FakeAccess(), FAILED, "Berth reads a dump", id="a dump, and a cluster"),
        pytest.param(RunningBerth("two"), FakeAccess(cluster="one"), FAILED, "of cluster two", id="another cluster"),
        pytest.param(RunningBerth("one/1+bc814cf7"), FakeAccess(cluster="one"), OK, "of this cluster", id="the same"),
    ],
)
def test_compares_cluster_uid_with_the_running_berth(
    running: RunningBerth, access: FakeAccess | None, result: Result, message: str
) -> None:
    expect(check_cluster_of(running, access), "same-cluster", result, message)


@pytest.mark.parametrize(
    ("version", "result", "message"),
    [
        pytest.param("v1.36.0", OK, "Kubernetes v1.36.0", id="every change is tested with it"),
        pytest.param("v1.37.2", OK, "Kubernetes v1.37.2", id="newest"),
        pytest.param("v1.36.4-eks-3025e55", OK, "v1.36.4-eks-3025e55", id="managed"),
        pytest.param("v1.33.9", WARNING, "Kubernetes v1.33.9: Berth is tested with", id="older"),
        pytest.param("v1.38.0-alpha.0", WARNING, "v1.38.0-alpha.0", id="newer"),
        pytest.param("v1.3.0", WARNING, "v1.3.0", id="a tested version with a similar prefix"),
        pytest.param("", WARNING, "unknown version", id="no version"),
    ],
)
def test_prints_version_and_warns_if_it_is_untested(version: str, result: Result, message: str) -> None:
    expect([check_kubernetes_version(FakeAccess(kubernetes=version))], CheckName.KUBERNETES_VERSION, result, message)
