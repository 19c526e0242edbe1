"""`berth simulate` on a dump of the cluster, to compare its result with the real scheduler."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.kubernetes.cluster import Cluster

from .berth_serve import COMMAND, CONFIGURATION

SECONDS = 60
PLACED, PENDING = 0, 1


@dataclass(frozen=True)
class SimulationResult:
    """A pod's node, and the UIDs of its victims."""

    node: str | None
    victims: frozenset[str] = frozenset()


def simulate(cluster: Cluster, name: str, *, document: str = CONFIGURATION) -> SimulationResult:
    """Simulate one pod on a dump of the current cluster."""
    with TemporaryDirectory() as directory:
        dump, configuration = (Path(directory) / name for name in ("dump.json", "berth.yaml"))
        dump.write_text(json.dumps({"kind": "List", "items": cluster.dump()}))
        configuration.write_text(document)
        done = subprocess.run(
            [COMMAND, "simulate", f"--cluster={dump}", f"--config={configuration}", "--output=json"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode in (PLACED, PENDING), done.stderr
    [found] = [each for each in json.loads(done.stdout)["pods"] if each["name"] == name]
    victims = (found.get("preemption") or {}).get("victims") or ()
    return SimulationResult(found["node"], frozenset(victim["uid"] for victim in victims))
