"""`berth gangs list`, as a user runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from tests.e2e.berth.berth_serve import COMMAND


def listed_gang(gang: str, source: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the command says of a gang (NAMESPACE/NAME) in JSON; empty if it is not listed. source: an option."""
    command = [str(COMMAND), "gangs", "list", source, "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, dict[str, Any]] = {each["gang"]: each for each in json.loads(done.stdout)["gangs"]}
    return found.get(gang, {})
