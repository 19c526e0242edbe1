"""`python -m tests.upstream`: upstream's own tests of the scheduler, with Berth as the extender."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.kubernetes.control_plane import BINARY, KUBERNETES
from tests.upstream import differences, extender_tables, patches
from tests.upstream.integration import IntegrationTests
from tests.upstream.results import Execution, Outcome
from tests.upstream.servers import etcd, launcher
from tests.upstream.staging import PROJECT, StagingError, UpstreamTree, stage
from tests.upstream.suites import SUITES, Mode, suites

TABLES = "extender-tables"


def main() -> int:
    """Return the exit status: 1 if an unlisted case differs or a listed case does not; 2 if the tests cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    names = (TABLES, *(suite.name for suite in SUITES))
    parser.add_argument("--suites", default=",".join(names), help="separated by commas")
    parser.add_argument("--modes", default=f"{Mode.BESIDE},{Mode.ALONE}", help=f"of {', '.join(Mode)}")
    parser.add_argument("--only", default="", help="a regular expression that the name of an integration test matches")
    arguments = parser.parse_args()
    if not BINARY.exists():
        print(f"{BINARY.name} is not built: run `make upstream KUBERNETES={KUBERNETES}`", file=sys.stderr)
        return 2
    chosen = arguments.suites.split(",")
    try:
        tree = _built(chosen)
    except StagingError as error:
        print(error, file=sys.stderr)
        return 2
    began = time.monotonic()
    outcomes: dict[str, Outcome] = {}
    for execution in _run(tree, chosen, [Mode(mode) for mode in arguments.modes.split(",")], arguments):
        for case, outcome in execution.results.items():
            name = f"{execution.group}/{case}"
            outcomes[name] = outcome
            if outcome not in differences.GOOD:
                print(f"{name} {outcome}: {execution.symptom(case)}", flush=True)
    contradictions = differences.compare(outcomes, differences.known())
    for line in contradictions:
        print(f"upstream: {line}")
    counts = Counter(name.partition("/")[0] for name in outcomes)
    passed = Counter(name.partition("/")[0] for name, outcome in outcomes.items() if outcome in differences.GOOD)
    for group, number in counts.items():
        print(f"upstream {group}: {passed[group]} of {number} cases pass")
    print(f"upstream: {len(contradictions)} unknown differences in {time.monotonic() - began:.0f} s")
    return 1 if contradictions else 0


def _built(chosen: list[str]) -> UpstreamTree:
    tree = stage(KUBERNETES)
    patches.apply(tree)
    packages = [suite.package for suite in suites(chosen)]
    for package in (*packages, *([extender_tables.PACKAGE] if TABLES in chosen else ())):
        began = time.monotonic()
        tree.build_test(package)
        print(f"built the tests of {package} in {time.monotonic() - began:.0f} s", flush=True)
    return tree


def _run(
    tree: UpstreamTree, chosen: list[str], modes: list[Mode], arguments: argparse.Namespace
) -> Iterator[Execution]:
    directory = tree.root / "runs"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    berth = Path(os.environ.get("BERTH") or PROJECT / ".venv" / "bin" / "berth")
    if TABLES in chosen:
        yield from extender_tables.run(tree, berth, directory)
    pairs = [(suite, mode) for suite in suites(chosen) for mode in modes if mode in suite.modes]
    if pairs:
        with etcd(directory) as address, launcher(berth, directory) as socket:
            tests = IntegrationTests(tree, launcher=socket, etcd=address, directory=directory)
            yield from tests.run(pairs, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
