"""pip-audit against a vulnerability service on loopback, which speaks OSV's protocol."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.loopback import LoopbackServer, Request, Response, free_port
from tools.supply_chain.audit import PIP_AUDIT, Outcome, RequirementsUnreadable, audit, main

pytestmark = pytest.mark.skipif(not PIP_AUDIT.exists(), reason="pip-audit is not installed: make tools")

LOCKED = "hole==1.0 --hash=sha256:{0}\nsound==2.0 --hash=sha256:{0}\n".format("a" * 64)
VULNERABILITY = {
    "id": "PYSEC-2026-1",
    "summary": "a hole",
    "affected": [
        {
            "package": {"name": "hole", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "1.1"}]}],
        }
    ],
}


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(LOCKED)
    return path


def json_of(body: object) -> Response:
    return Response(200, json.dumps(body).encode())


def knows_a_hole(request: Request) -> Response:
    return json_of({"vulns": [VULNERABILITY]} if b'"hole"' in request.body else {})


def test_vulnerability_fails_and_is_reported(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LoopbackServer(knows_a_hole) as service:
        assert main(["--osv-url", service.url, str(locked)]) == 1
    assert capsys.readouterr().out == ("audit of what is locked: vulnerable\n  hole 1.0: PYSEC-2026-1, fixed in 1.1\n")


def test_passes_without_vulnerabilities(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LoopbackServer(lambda _: json_of({})) as service:
        assert main(["--osv-url", service.url, "--required", str(locked)]) == 0
    assert capsys.readouterr().out == "audit of what is locked: clean\n  2 packages\n"


def test_unreachable_service_is_reported_and_fails_only_if_required(
    locked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    assert main(["--osv-url", nowhere, str(locked)]) == 0
    assert "not audited" in capsys.readouterr().out
    assert main(["--osv-url", nowhere, "--required", str(locked)]) == 1


def test_failing_service_means_not_audited(locked: Path) -> None:
    with LoopbackServer(lambda _: Response(503, b"")) as service:
        done = audit([locked], ("--vulnerability-service", "osv", "--osv-url", service.url))
    assert done.outcome is Outcome.NOT_AUDITED


def test_unreadable_requirements_are_an_error(locked: Path) -> None:
    locked.write_text("hole>=1.0\n")
    with pytest.raises(RequirementsUnreadable, match="hole"):
        audit([locked])
