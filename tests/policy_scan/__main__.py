"""`python -m tests.policy_scan`: exit status 1 if a finding has no exception, or an exception has no finding."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.deployment.sam import PROJECT
from tests.deployment.transform import transformed

from . import checkov
from .exceptions import read, unexpected
from .processed import evaluate

DOCUMENT = PROJECT / "tools" / "checkov" / "policy.yaml"


def main() -> int:
    scan = read(DOCUMENT)
    templates = {name: evaluate(transformed(**parameters), parameters) for name, parameters in scan.deployments.items()}
    with tempfile.TemporaryDirectory() as directory:
        findings = checkov.scan(templates, Path(directory))
    problems = list(unexpected(scan, findings))
    for line in problems:
        print(line)
    scanned = ", ".join(f"{name} ({len(template['Resources'])} resources)" for name, template in templates.items())
    print(f"{scanned}: {len(findings)} findings, {len(scan.exceptions)} exceptions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
