"""Runs the integration tests: a process for each test, with an API server of its own on the run's etcd."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tests.upstream.results import Outcome, Result, read_results
from tests.upstream.staging import UpstreamTree
from tests.upstream.suites import Mode, Suite

TEST_SECONDS = 1200
"""Of the longest test with all its cases. The test binary ends itself then, and says which case was running."""
# Lines of klog begin with a letter for their level and the date.
SYMPTOM = re.compile(r"^\s+\w+_test\.go:\d+: (?![IWE]\d{4} ).*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Execution:
    """A test of a suite in a mode: where its output is, and the results of its cases by name."""

    mode: Mode
    suite: str
    test: str
    log: Path
    results: Mapping[str, Result]

    def case_name(self, case: str) -> str:
        """As the differences name it."""
        return f"{self.suite}/{case}"


class IntegrationTests:
    """The tests of a staged release.

    launcher: the socket. etcd: its address. directory: for logs of the tests and of `berth serve`. jobs: tests at once.
    """

    def __init__(self, tree: UpstreamTree, *, launcher: Path, etcd: str, directory: Path, jobs: int) -> None:
        self._tree = tree
        self._launcher = launcher
        self._etcd = etcd
        self._directory = directory
        self._jobs = jobs

    def run(self, chosen: Sequence[tuple[Suite, Mode]], only: str) -> Iterator[Execution]:
        """Run the tests whose name the regular expression `only` finds, and give them as they end."""
        with ThreadPoolExecutor(self._jobs) as pool:
            waiting = [
                pool.submit(self._run, suite, mode, test)
                for suite, mode in chosen
                for test in self._tests(suite)
                if re.search(only, test)
            ]
            for each in as_completed(waiting):
                yield each.result()

    def _tests(self, suite: Suite) -> list[str]:
        listed = subprocess.run(
            [self._tree.test_binary(suite.package), "-test.list=."],
            cwd=self._tree.root / suite.package,
            env=os.environ | {"KUBE_INTEGRATION_ETCD_URL": self._etcd},
            capture_output=True,
            text=True,
            check=True,
        )
        return [line for line in listed.stdout.splitlines() if line.startswith("Test")]

    def _run(self, suite: Suite, mode: Mode, test: str) -> Execution:
        directory = self._directory / mode / suite.name.replace("/", "-") / test
        directory.mkdir(parents=True)
        log = directory / "test.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    self._tree.test_binary(suite.package),
                    "-test.v",
                    f"-test.run=^{test}$",
                    f"-test.timeout={TEST_SECONDS}s",
                ],
                cwd=self._tree.root / suite.package,
                env=os.environ | self._environment(mode, directory),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            process.wait()
        return Execution(mode, suite.name, test, log, read_results(log.read_text(errors="replace")))

    def _environment(self, mode: Mode, directory: Path) -> dict[str, str]:
        environment = {"KUBE_INTEGRATION_ETCD_URL": self._etcd, "TMPDIR": str(directory)}
        if mode is not Mode.WITHOUT:
            environment |= {"BERTH_LAUNCHER": str(self._launcher), "BERTH_LOGS": str(directory)}
        if mode is Mode.ALONE:
            environment["BERTH_ALONE"] = "yes"
        return environment


def symptom(run: Execution, case: str) -> str:
    """The first line that the test wrote about a case that has not passed."""
    if run.results[case].outcome is Outcome.UNFINISHED:
        return "unfinished"
    text = run.log.read_text(errors="replace")
    _, _, after = text.partition(f"=== RUN   {case}\n")
    found = SYMPTOM.search(after)
    return found[0].strip() if found else ""
