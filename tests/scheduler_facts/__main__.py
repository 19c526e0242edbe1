"""`KUBERNETES=1.34 python -m tests.scheduler_facts --write|--compare`: measure one version of kube-scheduler."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.e2e.kubernetes.control_plane import BINARY, KUBERNETES, ControlPlane
from tests.e2e.kubernetes.kubernetes_api import KubernetesApi
from tests.scheduler_facts.facts import MEASURED, Facts
from tests.scheduler_facts.measurements import measure


def main() -> int:
    """Exit status 1 if the version behaves otherwise than what was kept of it, or if it is not built."""
    parser = argparse.ArgumentParser(prog="python -m tests.scheduler_facts", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="keep what is measured")
    action.add_argument("--compare", action="store_true", help="with what was kept")
    arguments = parser.parse_args()
    if not BINARY.exists():
        print(f"{BINARY.name} is not built: run `make facts KUBERNETES={KUBERNETES}`", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="facts-") as directory, ControlPlane(Path(directory)) as control_plane:
        release = KubernetesApi(control_plane.credentials()).get("/version")["gitVersion"]
        facts = measure(control_plane, release)
    path = MEASURED / f"{KUBERNETES}.json"
    if arguments.write:
        facts.write(path)
    print(facts)
    if not path.exists():
        print(f"facts of {release}: none are kept to compare with; keep these with make facts WRITE=yes")
        return 0
    kept = Facts.read(path)
    differing = sorted(name for name, value in facts.behaviour().items() if value != kept.behaviour()[name])
    print(f"facts of {release}: {', '.join(differing) or 'none'} differ from those kept")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
