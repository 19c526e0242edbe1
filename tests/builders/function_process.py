"""A Python process with a function's environment variables."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import PROJECT

VARIABLES = {
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "BERTH_CACHE_TABLE": "cache",
    "BERTH_LEDGER_TABLE": "ledger",
    "BERTH_KUBECONFIG_SECRET": "secret",
    "BERTH_PASSWORD_SECRET": "password",
    "BERTH_AUTHENTICATION": "basic",
    **{f"BERTH_{verb}_VERSION": "arn" for verb in ("FILTER", "FILTER_ONLYONE", "PRIORITIZE", "BIND", "PREEMPT")},
}
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


def run(*command: str, **variables: str) -> list[str]:
    """Return the output lines of a Python process whose AWS and Berth variables are only VARIABLES and these."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BERTH_"))}
    found = subprocess.run(
        [sys.executable, *command],
        env=surroundings | VARIABLES | variables,
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    return found.stdout.splitlines()
