"""`berth doctor` on a `berth serve` with mutual TLS, with one misconfiguration at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .berth.mutual_tls_serve import serve_with_mutual_tls
from .kubernetes.control_plane import ControlPlane
from .misconfigured.doctor import berth_doctor, doctor_in_process
from .misconfigured.misconfiguration import Misconfiguration, parametrize_misconfigurations
from .misconfigured.mutual_tls import CASES, MutualTLSSetUp, issue_clients, mutual_tls_set_up


@pytest.fixture(scope="module")
def setup(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MutualTLSSetUp]:
    home = tmp_path_factory.mktemp("mutual-tls")
    with serve_with_mutual_tls(control_plane, home, issue_clients) as server:
        yield mutual_tls_set_up(server, home)


def test_printed_configuration_has_no_findings(setup: MutualTLSSetUp) -> None:
    diagnosis = berth_doctor(*setup.options, "--strict")
    assert diagnosis.exit_status == 0, diagnosis.findings
    for check in ("server-certificate", "client-certificate", "filterVerb", "verification", "httpTimeout", "cache"):
        assert diagnosis.result(check) == {"ok"}, diagnosis.findings


@parametrize_misconfigurations(CASES)
def test_doctor_reports_only_the_misconfiguration(
    misconfiguration: Misconfiguration[MutualTLSSetUp], setup: MutualTLSSetUp
) -> None:
    with misconfiguration.apply(setup) as options:
        misconfiguration.check(doctor_in_process(*setup.options, *options))
