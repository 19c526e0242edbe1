"""template.yaml after SAM's transform: what CloudFormation deploys, with the roles that SAM makes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from .emulator import PYTHON, REGION
from .template import read_template

TRANSFORM = Path(__file__).with_name("sam_transform.py")


def processed_template() -> dict[str, Any]:
    """Needs the emulator's tools: PYTHON is there, or the caller skips."""
    template = read_template()
    for resource in template["Resources"].values():
        # Only `sam build` and `sam package` make an address of a folder.
        for name in ("CodeUri", "ContentUri"):
            if name in resource["Properties"]:
                resource["Properties"][name] = "s3://bucket/key"
    done = subprocess.run(
        [PYTHON, "-P", TRANSFORM],
        input=json.dumps(template),
        env={"AWS_DEFAULT_REGION": REGION},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
