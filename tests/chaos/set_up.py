"""The set-up of rounds: a real control plane, two Berth processes on tables that survive them, two schedulers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from signal import SIGINT, SIGKILL, Signals
from typing import Any, Self

from berth.dynamodb import HEAD_KEY
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.table import Marker, MarkerState
from berth_cli.server.options import CACHE_TABLE, LEDGER_TABLE
from tests.builders.tables import create_cache_table, create_ledger_table
from tests.chaos.berth_on_tables import CLOCK
from tests.chaos.cluster_model import COUNTED, DEPLOYED, DOCUMENT, SCHEDULERS
from tests.chaos.faulty_proxy import FaultyProxy
from tests.chaos.witness import Witness
from tests.chaos.workload import Workload
from tests.deployment.emulator import Emulator
from tests.e2e.berth.berth_serve import COMMAND, BerthServe
from tests.e2e.berth.identities import counted_resources, identities
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.kubernetes_api import Credentials, KubernetesApi
from tests.e2e.kubernetes.loopback import HOST, free_port, get_status
from tests.e2e.kubernetes.scheduler_configuration import (
    ExtenderConfiguration,
    SchedulerConfiguration,
    filter_prioritize_bind,
    scheduler_configuration,
)

START_SECONDS = 60
POLL_SECONDS = 0.2


class Berth:
    """`berth serve` on the tables behind the proxy; its address stays the same after a restart."""

    def __init__(self, number: int, directory: Path, command: list[str | Path]) -> None:
        self.name = f"berth-{number}"
        self.port = free_port()
        self._directory = directory
        self._command = [*command, f"--port={self.port}"]
        self._starts = 0
        self._process: ChildProcess | None = None
        self.clock = directory / f"{self.name}.clock"

    @property
    def url_prefix(self) -> str:
        return f"http://{HOST}:{self.port}/scheduler"

    def start(self) -> None:
        """Start the command, which answers a moment later (see `wait_until_ready`)."""
        self._starts += 1
        self.clock.write_text("0")
        self._process = ChildProcess(
            ["env", f"{CLOCK}={self.clock}", *self._command], self._directory / f"{self.name}-{self._starts}.log"
        )

    def wait_until_ready(self) -> None:
        assert self._process is not None
        self._process.wait_until(lambda: get_status(f"http://{HOST}:{self.port}/healthz") != 0, seconds=START_SECONDS)

    def send(self, what: Signals) -> None:
        """Send a signal to the process if it runs."""
        if self._process is not None:
            self._process.send(what)

    def stop(self, by: Signals = SIGINT) -> None:
        """End the process; with SIGINT it hands over."""
        if self._process is not None:
            self._process.stop(by)
            self._process = None

    def jump(self, seconds: float) -> None:
        """Set the process's wall clock ahead by this time."""
        part = self.clock.with_suffix(".part")
        part.write_text(str(seconds))
        part.replace(self.clock)


class Scheduler:
    def __init__(self, name: str, control_plane: ControlPlane, url_prefix: str, directory: Path) -> None:
        self.name = name
        self._control_plane = control_plane
        self._url_prefix = url_prefix
        self.file = directory / f"{name}.json"
        self.file.write_text(json.dumps(self._configuration()))
        self._running = ExitStack()
        self._process: ChildProcess | None = None

    def start(self) -> None:
        self._process = self._running.enter_context(self._control_plane.scheduler(self._configuration()))

    def send(self, what: Signals) -> None:
        if self._process is not None:
            self._process.send(what)

    def stop(self) -> None:
        self._running.close()

    @contextmanager
    def calling(self, url_prefix: str) -> Iterator[None]:
        """Run the scheduler with another extender until the block ends."""
        before, self._url_prefix = self._url_prefix, url_prefix
        self.stop()
        self.start()
        try:
            yield
        finally:
            self._url_prefix = before
            self.stop()
        self.start()

    def _configuration(self) -> SchedulerConfiguration:
        # As `berth scheduler-config` prints it: Berth gets every pod, because rules about pods need this.
        every_pod = replace(filter_prioritize_bind(self._url_prefix), http_timeout="5s")
        counted = ExtenderConfiguration(url_prefix=self._url_prefix, managed_resources=COUNTED, http_timeout="5s")
        return scheduler_configuration([every_pod, counted]) | {
            "profiles": [{"schedulerName": self.name}],
            # A rejected pod is tried again soon: otherwise a round would measure the back-off.
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": 2,
        }


class SetUp:
    """Runs the whole set-up until the block ends, and ends everything that it started."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.random = Random(seed)
        self._seed = seed
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._start(undo)
            self._running = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self, running: ExitStack) -> None:
        self.control_plane = running.enter_context(ControlPlane(_made(self.directory / "control-plane")))
        self.credentials = self.control_plane.credentials()
        self.api = KubernetesApi(self.credentials)
        running.enter_context(counted_resources(self.control_plane))
        self.identities = identities(self.control_plane)
        self.emulator = running.enter_context(Emulator(_made(self.directory / "account")))
        self.tables: Any = self.emulator.client("dynamodb")
        create_cache_table(self.tables, CACHE_TABLE)
        create_ledger_table(self.tables, LEDGER_TABLE)
        self.ledger = DynamoDBLedgerTable(self.tables, LEDGER_TABLE)
        # The tables are as new as the cluster: no bind can be under way.
        self.ledger.put_marker(Marker(MarkerState.READY, 0, time.time(), "new"), None)
        self.api_proxy = running.enter_context(
            FaultyProxy(
                self.credentials.server, ca_file=self.credentials.ca_file, own=self.control_plane.serving_certificate()
            )
        )
        self.tables_proxy = running.enter_context(FaultyProxy(self.emulator.endpoint_url))
        self.apply_configuration()
        self.witness = running.enter_context(Witness(self.credentials))
        self.workload = running.enter_context(Workload(self.credentials, Random(self._seed)))
        self.berths = [Berth(number, self.directory, self._command()) for number in range(2)]
        for berth in self.berths:
            running.callback(berth.stop, SIGKILL)
            berth.start()
        for berth in self.berths:
            berth.wait_until_ready()
        self.schedulers = [
            Scheduler(name, self.control_plane, berth.url_prefix, self.directory)
            for name, berth in zip(SCHEDULERS, self.berths, strict=True)
        ]
        for scheduler in self.schedulers:
            running.callback(scheduler.stop)
            scheduler.start()

    def _command(self) -> list[str | Path]:
        """Return the command of both Berth processes: as the documented users, through the proxies."""
        variables = [
            f"{name}={value}" for name, value in self._environment(self.tables_proxy.url).items() if "AWS" in name
        ]
        through = self.identities.through(self.api_proxy.url)
        deployed = self.directory / "deployed.yaml"
        deployed.write_text(DEPLOYED)
        return [
            *variables,
            sys.executable,
            "-m",
            "tests.chaos.berth_on_tables",
            "serve",
            "--store=dynamodb",
            f"--host={HOST}",
            f"--kubeconfig={self.control_plane.kubeconfig(through.watcher)}",
            f"--binder-kubeconfig={self.control_plane.kubeconfig(through.binder)}",
            f"--config={deployed}",
            *(f"--scheduler-name={name}" for name in SCHEDULERS),
        ]

    def _environment(self, endpoint_url: str) -> Mapping[str, str]:
        return self.emulator.environment() | {"AWS_ENDPOINT_URL": endpoint_url}

    def apply_configuration(self) -> None:
        """Apply the configuration as an operator does. A round does not wait: its document is always the same."""
        file = self.directory / "berth.yaml"
        file.write_text(DOCUMENT)
        subprocess.run(
            [COMMAND, "config", "apply", file, "--cache-table", CACHE_TABLE, "--no-wait"],
            env=dict(self._environment(self.emulator.endpoint_url)),
            check=True,
            capture_output=True,
            timeout=START_SECONDS,
        )

    @property
    def configuration(self) -> Path:
        return self.directory / "berth.yaml"

    @contextmanager
    def with_own_store(self) -> Iterator[str]:
        """Run a `berth serve` as users start it, with tables in its memory, until the block ends; yield its address."""
        directory = self.directory / "own-store"
        directory.mkdir(exist_ok=True)
        watcher, binder = (self.kubeconfig(each) for each in (self.identities.watcher, self.identities.binder))
        with BerthServe(watcher, directory, binder=binder, document=DOCUMENT, is_healthy=False) as berth:
            yield berth.url_prefix

    def epoch(self) -> int:
        """Return the epoch of the lease; -1 if there is no lease."""
        found = self.tables.get_item(TableName=CACHE_TABLE, Key=HEAD_KEY, ConsistentRead=True).get("Item", {})
        return int(found["leaseTransitions"]["N"]) if "leaseTransitions" in found else -1

    def raise_epoch(self, least: int) -> None:
        """End and start the watchers in turn until the lease has at least this epoch."""
        for turn in range(2 * least):
            if self.epoch() >= least:
                return
            berth = self.berths[turn % 2]
            berth.stop()
            berth.start()
            berth.wait_until_ready()
            self.wait_until(lambda: self.publishes_within(5), 40, "a watcher publishes")

    def publishes_within(self, seconds: float) -> bool:
        found = self.tables.get_item(TableName=CACHE_TABLE, Key=HEAD_KEY, ConsistentRead=True).get("Item", {})
        return "heartbeat" in found and abs(time.time() - float(found["heartbeat"]["N"])) < seconds

    def has_configuration(self) -> bool:
        """Return whether the head points to an applied document."""
        found = self.tables.get_item(TableName=CACHE_TABLE, Key=HEAD_KEY, ConsistentRead=True).get("Item", {})
        return "configurationHash" in found

    def has_ledger(self) -> bool:
        """Return whether the ledger counts, because a rebuild has ended."""
        marker = self.ledger.marker()
        return marker is not None and marker.state is MarkerState.READY

    def empty(self, table: str) -> None:
        """Delete all items of a table."""
        pages = self.tables.get_paginator("scan").paginate(TableName=table, ProjectionExpression="pk, sk")
        for key in [item for page in pages for item in page["Items"]]:
            self.tables.delete_item(TableName=table, Key=key)

    @contextmanager
    def without_table(self, table: str) -> Iterator[None]:
        """Delete the table until the block ends, and then create it again, empty."""
        self.tables.delete_table(TableName=table)
        try:
            yield
        finally:
            {CACHE_TABLE: create_cache_table, LEDGER_TABLE: create_ledger_table}[table](self.tables, table)

    @staticmethod
    def wait_until(holds: Callable[[], bool], seconds: float, what: str) -> None:
        """Poll until the condition holds. Raises TimeoutError with its description."""
        until = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > until:
                raise TimeoutError(f"after {seconds:g} s still not: {what}")
            time.sleep(POLL_SECONDS)

    def kubeconfig(self, credentials: Credentials | None = None) -> Path:
        """Write a kubeconfig that bypasses the proxy: the tests' own calls must not fail."""
        return self.control_plane.kubeconfig(credentials)


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory
