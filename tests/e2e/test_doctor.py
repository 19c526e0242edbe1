"""`berth doctor` on a real API server and `berth serve`, with one misconfiguration at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from .kubernetes.control_plane import ControlPlane
from .misconfigured.doctor import Diagnosis, berth_doctor, doctor_in_process
from .misconfigured.misconfiguration import Misconfiguration, parametrize_misconfigurations
from .misconfigured.serve import CONFIGURATIONS, RIGHTS, Installation, installation

REVIEW_SECONDS = 20
POLL_SECONDS = 0.1


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A separate cluster, because the tests change its roles."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def setup(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(control_plane, tmp_path_factory.mktemp("serve")) as setup:
        _until(lambda: doctor_in_process(*setup.options), lambda found: not found.bad)
        yield setup


def _until(examine: Callable[[], Diagnosis], wanted: Callable[[Diagnosis], bool]) -> Diagnosis:
    """Examine again until the result is the wanted one: RBAC changes take effect after a moment."""
    deadline = time.monotonic() + REVIEW_SECONDS
    while not wanted(diagnosis := examine()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return diagnosis


def test_documented_setup_has_no_findings(setup: Installation) -> None:
    diagnosis = berth_doctor(*setup.options, "--strict")
    assert diagnosis.exit_status == 0, diagnosis.findings
    for check in ("watcher-rights", "bind-rights", "wake-up", "managedResources", "httpTimeout", "cache"):
        assert diagnosis.result(check) == {"ok"}, diagnosis.findings


@parametrize_misconfigurations(CONFIGURATIONS)
def test_doctor_reports_only_the_misconfiguration(
    misconfiguration: Misconfiguration[Installation], setup: Installation
) -> None:
    with misconfiguration.apply(setup) as options:
        misconfiguration.check(doctor_in_process(*setup.options, *options))


@parametrize_misconfigurations(RIGHTS)
def test_doctor_reports_missing_right(misconfiguration: Misconfiguration[Installation], setup: Installation) -> None:
    with misconfiguration.apply(setup) as options:
        misconfiguration.check(
            _until(lambda: doctor_in_process(*setup.options, *options), misconfiguration.is_reported_by)
        )
    restored = _until(lambda: doctor_in_process(*setup.options), lambda found: not found.bad)
    assert not restored.bad
