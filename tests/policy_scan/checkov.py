"""checkov as a command of an environment of its own (`.tools/checkov`). It asks nobody on the network."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.deployment.sam import PROJECT

from .exceptions import Finding

COMMAND = PROJECT / ".tools" / "checkov" / "bin" / "checkov"
SECONDS = 120


class ScannerFailed(Exception):
    """checkov did not look at the templates."""


def scan(templates: Mapping[str, dict[str, Any]], directory: Path) -> list[Finding]:
    """What checkov finds in these templates, by deployment; they are written to `directory`."""
    for deployment, template in templates.items():
        (directory / f"{deployment}.json").write_text(json.dumps(template, indent=1))
    done = subprocess.run(
        [
            *(COMMAND, "--framework", "cloudformation", "--skip-download", "--compact", "--quiet", "--soft-fail"),
            *("--output", "json"),
            *(argument for deployment in templates for argument in ("--file", f"{deployment}.json")),
        ],
        cwd=directory,
        env={**os.environ, "LOG_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if done.returncode != 0:
        raise ScannerFailed(done.stderr[-2000:] or done.stdout[-2000:])
    report: dict[str, Any] = json.loads(done.stdout)
    _looked_at_all(report, templates)
    return [
        Finding(
            failed["file_path"].removeprefix("/").removesuffix(".json"),
            failed["check_id"],
            failed["resource"].rpartition(".")[2],
            failed["check_name"],
        )
        for failed in report["results"]["failed_checks"]
    ]


def _looked_at_all(report: dict[str, Any], templates: Mapping[str, dict[str, Any]]) -> None:
    """A template that checkov cannot read is one without findings."""
    summary = report.get("summary", report)  # where it read none, it reports nothing but that
    resources = sum(len(template["Resources"]) for template in templates.values())
    if summary["parsing_errors"] or summary["resource_count"] < resources:
        raise ScannerFailed(f"checkov looked at {summary['resource_count']} of {resources} resources")
