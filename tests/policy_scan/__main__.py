"""`python -m tests.policy_scan`: exit status 1 if a finding has no exception, or an exception no finding."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.deployment.sam import PROJECT
from tests.deployment.transform import transformed

from . import checkov
from .exceptions import judge, read
from .processed import resolved

DOCUMENT = PROJECT / "tools" / "checkov" / "policy.yaml"


def main() -> int:
    scan = read(DOCUMENT)
    templates = {name: resolved(transformed(**parameters), parameters) for name, parameters in scan.deployments.items()}
    with tempfile.TemporaryDirectory() as directory:
        findings = checkov.scan(templates, Path(directory))
    wrong = list(judge(scan, findings))
    for line in wrong:
        print(line)
    looked_at = ", ".join(f"{name} ({len(template['Resources'])} resources)" for name, template in templates.items())
    print(f"{looked_at}: {len(findings)} findings, {len(scan.exceptions)} exceptions, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
