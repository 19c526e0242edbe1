"""`berth doctor` against the functions behind a loopback gateway, with one error at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from berth_cli.main import main

# Shared machines pause at any moment: how long calls take is for tests/unit/cli/installation/doctor to judge.
PATIENT = ("--http-timeout", "30s")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["doctor", "--timeout", "15", *map(str, arguments)], prog_name="berth")


def bad(done: Result) -> dict[str, str]:
    """Check to result, of all that is neither ok nor skipped."""
    found = json.loads(done.stdout)["findings"]
    return {each["check"]: each["result"] for each in found if each["result"] not in ("ok", "skipped")}


@pytest.fixture
def url(gateway_port: int) -> str:
    return f"http://127.0.0.1:{gateway_port}/scheduler"


@pytest.fixture
def scheduler(url: str, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """The file, and what `berth scheduler-config` prints for it."""
    printed = CliRunner().invoke(main, ["scheduler-config", "--url", url, *PATIENT], prog_name="berth").stdout
    return tmp_path / "scheduler.yaml", yaml.safe_load(printed)


def test_only_problem_of_the_printed_configuration_is_that_berth_reads_a_dump(
    scheduler: tuple[Path, dict[str, Any]],
) -> None:
    path, document = scheduler
    path.write_text(yaml.safe_dump(document))
    done = run("--scheduler-config", path, "-o", "json", "--strict")
    # The session's snapshot grows old, which its configuration allows.
    assert set(bad(done)) - {"watcher"} == {"same-cluster"}, done.stdout


def test_document_with_plugins_installed_only_in_the_stack_is_not_reported_as_invalid(tmp_path: Path) -> None:
    document = tmp_path / "berth.yaml"
    document.write_text("pluginConfig: [{name: 'berth_plugins.absent:Absent'}]")
    [found] = [
        each
        for each in json.loads(run("--url", "http://127.0.0.1:9/scheduler", "--config", document, "-o", "json").stdout)[
            "findings"
        ]
        if each["check"] == "configuration"
    ]
    assert found["remedy"] == "give the directory of your plugins: berth doctor --plugins DIR"
