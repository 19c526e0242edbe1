"""The checks of doctor are run when they are asked for, once for pages that ask together."""

from __future__ import annotations

from typing import Any

import orjson

from berth_cli.console.health.doctor import DOCTOR, KEPT_SECONDS, DoctorDocuments, no_doctor
from berth_cli.doctor.findings import CheckName, Finding, failed, ok

FOUND = [ok(CheckName.CACHE, "data is 1 s old"), failed(CheckName.WEIGHT, "weight is 0 (fact 6)", "set a weight")]


class Running:
    """`seconds`: of the monotonic clock. runs: how often the checks ran."""

    def __init__(self) -> None:
        self.seconds, self.runs = 0.0, 0
        self.documents = DoctorDocuments(self._run, lambda: self.seconds)

    def _run(self) -> list[Finding]:
        self.runs += 1
        return FOUND

    def ask(self) -> dict[str, Any]:
        found = self.documents.by_path[DOCTOR]({})
        assert isinstance(found, bytes)
        content: dict[str, Any] = orjson.loads(found)
        return content


def test_nothing_runs_before_somebody_asks() -> None:
    assert Running().runs == 0


def test_answer_has_the_findings_and_their_number() -> None:
    found = Running().ask()
    assert found["line"] == "1 ok, 1 failed"
    assert [(each["check"], each["result"], each["remedy"]) for each in found["findings"]] == [
        ("cache", "ok", ""),
        ("weight", "failed", "set a weight"),
    ]


def test_pages_that_ask_together_get_one_answer() -> None:
    running = Running()
    running.ask()
    running.seconds = KEPT_SECONDS - 0.1
    running.ask()
    assert running.runs == 1
    running.seconds = KEPT_SECONDS
    running.ask()
    assert running.runs == 2


def test_console_without_an_installation_names_the_command() -> None:
    assert "berth doctor" in no_doctor({}).reason
