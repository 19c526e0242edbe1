"""`berth doctor` on a real API server and `berth serve`, with one thing broken at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from .control_plane import ControlPlane
from .doctor import Diagnosis, berth_doctor, doctor_in_process
from .misconfiguration import Broken, table
from .misconfigured_serve import CONFIGURATIONS, NAMESPACE, RIGHTS, Served, served

REVIEW_SECONDS = 20
POLL_SECONDS = 0.1


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster of its own: its roles are broken."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def sound(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(control_plane, tmp_path_factory.mktemp("serve")) as sound:
        _until(lambda: doctor_in_process(*sound.options), lambda found: not found.bad)
        yield sound


def _until(examine: Callable[[], Diagnosis], wanted: Callable[[Diagnosis], bool]) -> Diagnosis:
    """What RBAC is told takes a moment to be known to the API server."""
    deadline = time.monotonic() + REVIEW_SECONDS
    while not wanted(diagnosis := examine()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return diagnosis


def test_documented_setup_has_no_findings(sound: Served) -> None:
    diagnosis = berth_doctor(*sound.options, "--strict")
    assert diagnosis.exit_status == 0, diagnosis.findings
    for check in ("watcher-rights", "bind-rights", "wake-up", "managedResources", "httpTimeout", "cache"):
        assert diagnosis.result(check) == {"ok"}, diagnosis.findings


@table(CONFIGURATIONS)
def test_doctor_reports_only_the_misconfiguration(broken: Broken[Served], sound: Served) -> None:
    with broken.breaking(sound) as options:
        broken.check(doctor_in_process(*sound.options, *options))


@table(RIGHTS)
def test_doctor_reports_missing_right(broken: Broken[Served], sound: Served) -> None:
    with broken.breaking(sound) as options:
        broken.check(_until(lambda: doctor_in_process(*sound.options, *options), broken.is_named_by))
    mended = _until(lambda: doctor_in_process(*sound.options), lambda found: not found.bad)
    assert not mended.bad


@table(RIGHTS)
def test_doctor_reviews_function_rights_as_administrator(broken: Broken[Served], sound: Served) -> None:
    asked = (
        f"--kubeconfig={sound.administrator}",
        f"--watcher-user=system:serviceaccount:{NAMESPACE}:berth-watcher",
        f"--binder-user=system:serviceaccount:{NAMESPACE}:berth-binder",
    )
    assert not _until(lambda: doctor_in_process(*asked), lambda found: not found.bad).bad
    with broken.breaking(sound) as options:
        broken.check(_until(lambda: doctor_in_process(*asked, *options), broken.is_named_by))
