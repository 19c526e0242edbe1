"""`python -m tools.supply_chain.audit [--offline-ok] [--osv-url URL]`: known vulnerabilities in what is locked.

A finding fails. An audit that could not ask the service fails too, unless `--offline-ok` allows it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
PIP_AUDIT = PROJECT / ".tools" / "supply_chain" / "bin" / "pip-audit"
LOCKED = (
    PROJECT / "layers" / "scheduling" / "requirements.txt",
    PROJECT / "layers" / "kubernetes" / "requirements.txt",
    PROJECT / "requirements" / "cli.txt",
)
ANSWER_SECONDS = 10
ALL_SECONDS = 60


class Outcome(StrEnum):
    """How an audit ended."""

    CLEAN = "clean"
    VULNERABLE = "vulnerable"
    UNKNOWN_PACKAGES = "unknown packages"
    NOT_AUDITED = "not audited"


@dataclass(frozen=True)
class Audit:
    """`lines` say why."""

    outcome: Outcome
    lines: tuple[str, ...] = ()

    def exit_status(self, *, offline_ok: bool) -> int:
        passed = {Outcome.CLEAN, Outcome.NOT_AUDITED} if offline_ok else {Outcome.CLEAN}
        return 0 if self.outcome in passed else 1


class RequirementsUnreadable(Exception):
    """pip-audit says what is wrong with the requirements."""


def judge(report: dict[str, Any]) -> Audit:
    """What a report of pip-audit means.

    A service that knows none of the packages is an index without the data, and pip-audit calls that success; one that
    knows some has been asked for names that it should know.
    """
    found = [
        f"{package['name']} {package['version']}: {vulnerability['id']}{_fixed(vulnerability)}"
        for package in report["dependencies"]
        for vulnerability in package.get("vulns", [])
    ]
    skipped = [
        f"{package['name']}: {package['skip_reason']}" for package in report["dependencies"] if "skip_reason" in package
    ]
    if found:
        return Audit(Outcome.VULNERABLE, tuple(dict.fromkeys(found)))
    if len(skipped) == len(report["dependencies"]):
        return Audit(Outcome.NOT_AUDITED, ("the index that is asked has no data about vulnerabilities",))
    if skipped:
        return Audit(Outcome.UNKNOWN_PACKAGES, tuple(dict.fromkeys(skipped)))
    return Audit(Outcome.CLEAN, (f"{len({package['name'] for package in report['dependencies']})} packages",))


def audit(locked: Sequence[Path], service: Sequence[str] = ()) -> Audit:
    """Raises RequirementsUnreadable: that is no matter of the network."""
    command = [str(PIP_AUDIT), "--disable-pip", "--require-hashes", "--format", "json", "--desc", "off"]
    command += ["--progress-spinner", "off", "--timeout", str(ANSWER_SECONDS), *service]
    for requirements in locked:
        command += ["--requirement", str(requirements)]
    read = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False, timeout=ALL_SECONDS)
    if read.returncode != 0:
        raise RequirementsUnreadable(read.stderr)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ALL_SECONDS)
    except subprocess.TimeoutExpired:
        return Audit(Outcome.NOT_AUDITED, (f"the service has not answered within {ALL_SECONDS} s",))
    try:
        return judge(json.loads(done.stdout))
    except json.JSONDecodeError:
        return Audit(Outcome.NOT_AUDITED, tuple(done.stderr.strip().splitlines()[-1:]))


def _fixed(vulnerability: dict[str, Any]) -> str:
    versions = ", ".join(vulnerability["fix_versions"])
    return f", fixed in {versions}" if versions else ", not fixed yet"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="audit", description="Known vulnerabilities in what is locked.")
    parser.add_argument("--offline-ok", action="store_true", help="pass if the service cannot be asked")
    parser.add_argument("--osv-url", help="ask this service, which speaks OSV's protocol")
    parser.add_argument("locked", nargs="*", type=Path, default=LOCKED, help="other requirements")
    options = parser.parse_args(arguments)
    service = ("--vulnerability-service", "osv", "--osv-url", options.osv_url) if options.osv_url else ()
    done = audit(options.locked, service)
    print(f"audit of what is locked: {done.outcome}")
    for line in done.lines:
        print(f"  {line}")
    if done.outcome is Outcome.NOT_AUDITED and not options.offline_ok:
        print("  to pass without an answer: make dist AUDIT=--offline-ok")
    return done.exit_status(offline_ok=options.offline_ok)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
