"""`berth doctor` on a `berth serve` that asks for client certificates, with one thing broken at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .control_plane import ControlPlane
from .doctor import berth_doctor, doctor_in_process
from .misconfiguration import Broken, table
from .misconfigured_mutual_tls import CASES, GuardedSetUp, guarded_set_up, issue_clients
from .mutual_tls_serve import guarded_serve


@pytest.fixture(scope="module")
def sound(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedSetUp]:
    home = tmp_path_factory.mktemp("guarded")
    with guarded_serve(control_plane, home, issue_clients) as guarded:
        yield guarded_set_up(guarded, home)


def test_printed_configuration_has_no_findings(sound: GuardedSetUp) -> None:
    diagnosis = berth_doctor(*sound.options, "--strict")
    assert diagnosis.exit_status == 0, diagnosis.findings
    for check in ("server-certificate", "client-certificate", "filterVerb", "verification", "httpTimeout", "cache"):
        assert diagnosis.result(check) == {"ok"}, diagnosis.findings


@table(CASES)
def test_doctor_reports_only_the_misconfiguration(broken: Broken[GuardedSetUp], sound: GuardedSetUp) -> None:
    with broken.breaking(sound) as options:
        broken.check(doctor_in_process(*sound.options, *options))
