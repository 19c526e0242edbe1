"""`python -m tests.upstream`: upstream's own tests of the scheduler, with Berth as the extender."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

from tests.e2e.kubernetes.control_plane import BINARY, KUBERNETES
from tests.upstream import patches
from tests.upstream.integration import IntegrationTests, symptom
from tests.upstream.results import Outcome
from tests.upstream.servers import etcd, launcher
from tests.upstream.staging import PROJECT, StagingError, stage
from tests.upstream.suites import SUITES, Mode, suites

GOOD = (Outcome.PASSED, Outcome.SKIPPED)


def main() -> int:
    """Exit status 1 if a case differs that is not listed, or one that is listed does not; 2 if nothing can be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument(
        "--suites", default="", help="names, separated by commas: " + ", ".join(each.name for each in SUITES)
    )
    parser.add_argument("--modes", default="beside,alone", help="without, beside, alone")
    parser.add_argument("--only", default="", help="a regular expression that the test's name has to match")
    parser.add_argument("--jobs", type=int, default=2, help="tests at once")
    arguments = parser.parse_args()
    if not BINARY.exists():
        print(f"{BINARY.name} is not built: run `make upstream KUBERNETES={KUBERNETES}`", file=sys.stderr)
        return 2
    modes = [Mode(name) for name in arguments.modes.split(",")]
    chosen = suites(filter(None, arguments.suites.split(",")))
    try:
        tree = stage(KUBERNETES)
        patches.apply(tree)
        for suite in chosen:
            began = time.monotonic()
            tree.build_test(suite.package)
            print(f"built {suite.name} in {time.monotonic() - began:.0f} s", flush=True)
    except StagingError as error:
        print(error, file=sys.stderr)
        return 2
    directory = tree.root / "runs"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    berth = Path(os.environ.get("BERTH") or PROJECT / ".venv" / "bin" / "berth")
    counts: Counter[tuple[Mode, str, Outcome]] = Counter()
    began = time.monotonic()
    with etcd(directory) as address, launcher(berth, directory) as socket:
        tests = IntegrationTests(tree, launcher=socket, etcd=address, directory=directory, jobs=arguments.jobs)
        pairs = [(suite, mode) for suite in chosen for mode in modes if mode in suite.modes]
        for run in tests.run(pairs, arguments.only):
            for case, result in run.results.items():
                counts[run.mode, run.suite, result.outcome] += 1
                if result.outcome not in GOOD:
                    took = f"{result.seconds:.1f} s"
                    print(f"{run.mode} {run.case_name(case)} {result.outcome} ({took}): {symptom(run, case)}")
            took = sum(each.seconds for each in run.results.values())
            good = sum(each.outcome in GOOD for each in run.results.values())
            print(f"{run.mode} {run.suite} {run.test}: {good} of {len(run.results)} in {took:.0f} s", flush=True)
    for (mode, suite_name, outcome), number in sorted(counts.items()):
        print(f"upstream {mode} {suite_name}: {number} {outcome}")
    print(f"{time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
