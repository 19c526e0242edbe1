"""`KUBERNETES=1.37 python -m tests.scheduler_facts`: measures this version of kube-scheduler, and saves the facts."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.e2e.kubernetes.control_plane import KUBERNETES
from tests.scheduler_facts.facts import MEASURED
from tests.scheduler_facts.measurements import measured_facts

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="facts-") as directory:
        facts = measured_facts(Path(directory))
    facts.write(MEASURED / f"{KUBERNETES}.json")
    print(facts)
