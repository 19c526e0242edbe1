"""Runs checkov from its own environment (`.tools/checkov`), without network access."""

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
    """checkov did not scan all templates."""


def scan(templates: Mapping[str, dict[str, Any]], directory: Path) -> list[Finding]:
    """Return checkov's findings in these templates, by deployment; write the templates to `directory`."""
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
    _require_complete_report(report, templates)
    return [
        Finding(
            failed["file_path"].removeprefix("/").removesuffix(".json"),
            failed["check_id"],
            failed["resource"].rpartition(".")[2],
            failed["check_name"],
        )
        for failed in report["results"]["failed_checks"]
    ]


def _require_complete_report(report: dict[str, Any], templates: Mapping[str, dict[str, Any]]) -> None:
    """Require a complete report, because checkov reports an unreadable template as a template without findings."""
    summary = report.get("summary", report)  # it reports only the summary if it could not read any template
    resources = sum(len(template["Resources"]) for template in templates.values())
    if summary["parsing_errors"] or summary["resource_count"] < resources:
        raise ScannerFailed(f"checkov scanned {summary['resource_count']} of {resources} resources")
