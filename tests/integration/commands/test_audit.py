"""pip-audit against a vulnerability service on loopback that implements the OSV protocol."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from click.testing import CliRunner

from tests.e2e.kubernetes.loopback import LoopbackServer, Request, Response, free_port
from tools.supply_chain.audit import PIP_AUDIT, Outcome, audit, main

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not PIP_AUDIT.exists(), reason="pip-audit is not installed: make tools"),
]

LOCKED = "vulnerable==1.0 --hash=sha256:{0}\nclean==2.0 --hash=sha256:{0}\n".format("a" * 64)
VULNERABILITY = {
    "id": "PYSEC-2026-1",
    "summary": "a vulnerability",
    "affected": [
        {
            "package": {"name": "vulnerable", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "1.1"}]}],
        }
    ],
}


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(LOCKED)
    return path


def run(*arguments: str | Path) -> tuple[int, str]:
    """Exit status and output of the command."""
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    return done.exit_code, done.stdout


def json_of(body: object) -> Response:
    return Response(200, json.dumps(body).encode())


def vulnerable_response(request: Request) -> Response:
    return json_of({"vulns": [VULNERABILITY]} if b'"vulnerable"' in request.body else {})


def test_vulnerability_fails_and_is_reported(requirements: Path) -> None:
    with LoopbackServer(vulnerable_response) as service:
        assert run("--osv-url", service.url, requirements) == (
            1,
            "audit of what is locked: vulnerable\n  vulnerable 1.0: PYSEC-2026-1, fixed in 1.1\n",
        )


def test_passes_without_vulnerabilities(requirements: Path) -> None:
    with LoopbackServer(lambda _: json_of({})) as service:
        assert run("--osv-url", service.url, requirements) == (0, "audit of what is locked: clean\n  2 packages\n")


def test_unreachable_service_fails_unless_offline_is_allowed(requirements: Path) -> None:
    unreachable = f"http://127.0.0.1:{free_port()}"
    status, printed = run("--osv-url", unreachable, requirements)
    assert status == 1
    assert "not audited" in printed
    assert "make dist AUDIT=--offline-ok" in printed
    assert run("--osv-url", unreachable, "--offline-ok", requirements)[0] == 0


def test_failing_service_means_not_audited(requirements: Path) -> None:
    with LoopbackServer(lambda _: Response(503, b"")) as service:
        assert audit([requirements], service.url)[0] is Outcome.NOT_AUDITED


def test_unreadable_requirements_are_an_error(requirements: Path) -> None:
    requirements.write_text("vulnerable>=1.0\n")
    with pytest.raises(CalledProcessError):
        audit([requirements])
