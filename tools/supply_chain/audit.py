"""`python -m tools.supply_chain.audit [--offline-ok]`: reports known vulnerabilities in locked packages.

The audit fails if it finds a vulnerability, or, unless `--offline-ok` is given, if it cannot reach the service.
"""

from __future__ import annotations

import json
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

PROJECT = Path(__file__).resolve().parents[2]
PIP_AUDIT = PROJECT / ".tools" / "supply_chain" / "bin" / "pip-audit"
LOCKED = tuple(
    PROJECT / f"{name}.txt"
    for name in ("layers/scheduling/requirements", "layers/kubernetes/requirements", "requirements/cli")
)
ALL_SECONDS = 60


class Outcome(StrEnum):
    CLEAN = "clean"
    VULNERABLE = "vulnerable"
    UNKNOWN_PACKAGES = "unknown packages"
    NOT_AUDITED = "not audited"


def judge(report: dict[str, Any]) -> tuple[Outcome, list[str]]:
    """Return the outcome of a pip-audit report, and the reasons. pip-audit also reports success if it skips some
    packages, or all of them because the service does not have data; these are separate outcomes here.
    """
    found, skipped = dict[str, None](), dict[str, None]()  # a package in two files counts once
    for each in report["dependencies"]:
        for one in each.get("vulns", ()):
            fixed = f"fixed in {', '.join(one['fix_versions'])}" if one["fix_versions"] else "not fixed yet"
            found[f"{each['name']} {each['version']}: {one['id']}, {fixed}"] = None
        if "skip_reason" in each:
            skipped[f"{each['name']}: {each['skip_reason']}"] = None
    names = {each["name"] for each in report["dependencies"]}
    if found:
        return Outcome.VULNERABLE, list(found)
    if len(skipped) == len(names):
        return Outcome.NOT_AUDITED, ["the index that is asked has no data about vulnerabilities"]
    return (Outcome.UNKNOWN_PACKAGES, list(skipped)) if skipped else (Outcome.CLEAN, [f"{len(names)} packages"])


def audit() -> tuple[Outcome, list[str]]:
    """Query the service. Raises CalledProcessError if the requirements cannot be read."""
    command = [
        str(PIP_AUDIT),
        "--disable-pip",
        "--require-hashes",
        "--format=json",
        "--desc=off",
        "--progress-spinner=off",
        "--timeout=10",
    ]
    command += [f"--requirement={requirements}" for requirements in LOCKED]
    subprocess.run([*command, "--dry-run"], stdout=subprocess.DEVNULL, check=True, timeout=ALL_SECONDS)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ALL_SECONDS)
        return judge(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return Outcome.NOT_AUDITED, [f"the service has not answered within {ALL_SECONDS} s"]
    except json.JSONDecodeError:
        return Outcome.NOT_AUDITED, done.stderr.strip().splitlines()[-1:]


@click.command()
@click.option("--offline-ok", is_flag=True, help="Pass if the service cannot be asked.")
def main(offline_ok: bool) -> None:
    """Report known vulnerabilities in locked packages."""
    outcome, lines = audit()
    click.echo("\n  ".join([f"audit of what is locked: {outcome}", *lines]))
    if outcome is Outcome.NOT_AUDITED and not offline_ok:
        click.echo("  to pass without an answer: make dist AUDIT=--offline-ok")
    sys.exit(outcome not in ({Outcome.CLEAN, Outcome.NOT_AUDITED} if offline_ok else {Outcome.CLEAN}))


if __name__ == "__main__":
    main()
