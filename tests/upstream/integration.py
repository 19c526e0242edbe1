"""Runs the integration tests: a process for each test, with a separate API server on the run's etcd."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.upstream.results import Execution, read_results
from tests.upstream.staging import UpstreamTree
from tests.upstream.suites import Mode, Suite

TESTS_AT_ONCE = 2
TEST_SECONDS = 1200
"""The longest time in seconds of a test with all its cases. After it, the binary exits and reports the running case."""


class IntegrationTests:
    """The tests of a staged release.

    launcher: the socket. etcd: its address. directory: for logs of the tests and of `berth serve`.
    """

    def __init__(self, tree: UpstreamTree, *, launcher: Path, etcd: str, directory: Path) -> None:
        self._tree = tree
        self._launcher = launcher
        self._etcd = etcd
        self._directory = directory

    def run(self, chosen: Sequence[tuple[Suite, Mode]], only: str) -> Iterator[Execution]:
        """Run the tests whose names match the regular expression `only`, and yield them as they end."""
        with ThreadPoolExecutor(TESTS_AT_ONCE) as pool:
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
            subprocess.run(
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
                check=False,
            )
        return Execution(f"{mode}/{suite.name}", log, read_results(log.read_text(errors="replace")))

    def _environment(self, mode: Mode, directory: Path) -> dict[str, str]:
        environment = {"KUBE_INTEGRATION_ETCD_URL": self._etcd, "TMPDIR": str(directory)}
        if mode is not Mode.WITHOUT:
            environment |= {"BERTH_LAUNCHER": str(self._launcher), "BERTH_LOGS": str(directory)}
        if mode is Mode.ALONE:
            environment["BERTH_ALONE"] = "yes"
        return environment
