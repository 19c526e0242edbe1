"""The check of the cluster's version, and what the list of tested versions rests on."""

from __future__ import annotations

import pytest

from berth_cli.doctor.checks.kubernetes_version import CHECK, TESTED, check_kubernetes_version
from berth_cli.doctor.findings import Result
from berth_cli.scheduler_config.command import IMAGE
from tests.conftest import PROJECT
from tests.e2e.kubernetes.control_plane import KUBERNETES
from tests.fakes.doctor import FakeAccess
from tests.unit.cli.doctor.finding_assertions import expect

LOCKED = {path.stem: path.read_text() for path in (PROJECT / "tests" / "kubernetes").glob("*.mod")}


@pytest.mark.parametrize(
    ("version", "result", "message"),
    [
        pytest.param("v1.36.0", Result.OK, "Kubernetes v1.36.0", id="every change is tested with it"),
        pytest.param("v1.37.2", Result.OK, "Kubernetes v1.37.2", id="newest"),
        pytest.param("v1.36.4-eks-3025e55", Result.OK, "v1.36.4-eks-3025e55", id="managed"),
        pytest.param("v1.33.9", Result.WARNING, "Kubernetes v1.33.9: Berth is tested with", id="older"),
        pytest.param("v1.38.0-alpha.0", Result.WARNING, "v1.38.0-alpha.0", id="newer"),
        pytest.param("v1.3.0", Result.WARNING, "v1.3.0", id="a tested version begins like it"),
        pytest.param("", Result.WARNING, "unknown version", id="no version"),
    ],
)
def test_names_version_and_warns_if_it_is_untested(version: str, result: Result, message: str) -> None:
    expect(check_kubernetes_version(FakeAccess(kubernetes=version)), CHECK, result, message)


def test_unreachable_cluster_fails() -> None:
    expect(check_kubernetes_version(FakeAccess(unreachable="away")), CHECK, Result.FAILED, "away")


def test_control_plane_of_the_tests_is_built_with_each_tested_version() -> None:
    assert set(TESTED) <= LOCKED.keys()
    assert list(TESTED) == sorted(TESTED)


def test_second_scheduler_has_the_version_that_every_change_is_tested_with() -> None:
    release = IMAGE.rpartition(":")[2]
    assert f"k8s.io/kubernetes {release}\n" in LOCKED[KUBERNETES]
