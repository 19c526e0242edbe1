"""`python -m tests.soak.serve_memory`: `berth serve` under a steady stream of pods.

Each pod requests a counted resource of nodes; some pods also request one of a floating pool, or are members of a gang.
A pod is filtered, bound, seen by the watcher, and deleted after 10 seconds. The API server is a fake. Exit status 1 if
memory grows by more than 5 % after six minutes, a bind fails, or pods hold more of a pool than its capacity.
"""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from berth.ledger.lease import NAME as LEASE
from tests.builders.certificates import server_tls
from tests.builders.http_calls import Caller
from tests.builders.kubeconfigs import kubeconfig_for
from tests.chaos.cluster_model import DOCUMENT, node
from tests.fakes.api_server import KubernetesOnLoopback, kubernetes_on_loopback
from tests.soak.pods import Pods

NODES = tuple(f"node-{number}" for number in range(20))
READY_SECONDS = 120.0
"""Limit in seconds: a ledger first waits half a minute for reservations of another server."""

SECONDS, SETTLING_SECONDS = 720.0, 360.0
"""Until 1,000 decisions are kept, and a log of 256 KiB, memory grows by design: for about five minutes."""
PODS_PER_SECOND = 5.0
SAMPLE_SECONDS = 15.0
MOST_GROWTH = 0.05
CONFIGURATION = {**yaml.safe_load(DOCUMENT), "profile": "managed-resources", "definitions": {}}
"""The configuration of tests/chaos without rules about other pods, because their caches take minutes to fill."""

ADDRESS = re.compile(r"Berth serves the profile \S+ on http://127\.0\.0\.1:(\d+)/scheduler")
BERTH = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')", "serve"]


def resident_megabytes(process: int) -> float:
    """Return the resident memory of this process now."""
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024 / 1e6


def main() -> int:
    """Print a line every 15 s, and the growth at the end."""
    with tempfile.TemporaryDirectory() as directory, _kubernetes(Path(directory)) as (kubernetes, kubeconfig):
        kubernetes.leases[LEASE] = {"metadata": {"name": LEASE, "uid": "lease-1", "resourceVersion": "1"}}
        kubernetes.nodes = [node(name) for name in NODES]
        configuration = Path(directory) / "berth.yaml"
        configuration.write_text(yaml.safe_dump(CONFIGURATION))
        process = subprocess.Popen(
            [*BERTH, f"--kubeconfig={kubeconfig}", f"--config={configuration}", "--port=0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            [port] = [found[1] for found in [ADDRESS.match(process.stdout.readline())] if found]
            caller = Caller(int(port))
            _wait_for_ledger(caller)
            return _run(process.pid, Pods(kubernetes, int(port), NODES))
        finally:
            process.kill()
            process.wait()


@contextmanager
def _kubernetes(directory: Path) -> Iterator[tuple[KubernetesOnLoopback, Path]]:
    """Run a server with HTTPS, because Berth refuses plain HTTP; yield it with its kubeconfig."""
    tls, certificate = server_tls(directory)
    with kubernetes_on_loopback(tls) as kubernetes:
        authority = base64.b64encode(certificate.read_bytes()).decode()
        yield kubernetes, kubeconfig_for(kubernetes.host, directory, authority)


def _wait_for_ledger(caller: Caller) -> None:
    until = time.monotonic() + READY_SECONDS
    while len(caller.request("GET", "/reservations").json["nodes"]) < len(NODES):
        assert time.monotonic() < until, f"the ledger has no nodes after {READY_SECONDS:g} s"
        time.sleep(1)


def _run(process: int, pods: Pods) -> int:
    started = time.monotonic()
    next_sample = started
    settled = 0.0
    while (elapsed := time.monotonic() - started) < SECONDS:
        pods.step()
        if time.monotonic() >= next_sample:
            next_sample += SAMPLE_SECONDS
            megabytes = resident_megabytes(process)
            settled = max(settled, megabytes) if elapsed < SETTLING_SECONDS else settled
            counts = f"{pods.bound} of {pods.created} pods bound, {pods.rejected} rejected, {pods.gangs} gangs"
            print(f"{elapsed:5.0f} s  {megabytes:6.1f} MB  {counts}", flush=True)
            if beyond := pods.overcommitted():
                print(f"more is held than there is: {'; '.join(beyond)}")
                return 1
        time.sleep(max(0.0, pods.created / PODS_PER_SECOND - (time.monotonic() - started)))
    growth = resident_megabytes(process) / settled - 1
    print(f"growth after {SETTLING_SECONDS:g} s: {growth:+.1%} of {settled:.1f} MB; at most {MOST_GROWTH:.0%}")
    is_complete = pods.bound + pods.rejected == pods.created and pods.gangs and pods.rejected
    return 0 if growth <= MOST_GROWTH and is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
