"""`python -m tests.soak.serve_memory [--minutes N] [--rate N]`: memory of `berth serve` under a steady stream of pods.

Each pod asks for a counted resource. It is filtered, bound, seen by the watcher, and deleted 10 seconds later. The API
server is a fake one in this process. Exit status 1 if resident memory grows by more than 5 % after two minutes.
"""

from __future__ import annotations

import argparse
import base64
import re
import ssl
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from berth.ledger.lease import NAME as LEASE
from berth.pods import BERTH_SCHEDULERS
from tests.builders.certificates import self_signed
from tests.builders.http_calls import Caller
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.builders.requests import body_of
from tests.fakes.api_server import KubernetesOnLoopback, kubernetes_on_loopback

SLOT = "example.com/slot"
NODES = 20
POD_SECONDS = 10.0
BIND_ATTEMPTS = 10
READY_SECONDS = 120.0
"""A ledger begins with what another server may have counted: half a minute."""

SETTLING_SECONDS = 120.0
SAMPLE_SECONDS = 15.0
MOST_GROWTH = 0.05
CONFIGURATION = {"profile": "managed-resources", "managedResources": [{"name": SLOT}]}
ADDRESS = re.compile(r"Berth serves the profile \S+ on http://127\.0\.0\.1:(\d+)/scheduler")
BERTH = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')", "serve"]


class Pods:
    """A stream of pods: each is created, bound to the next node, and deleted."""

    def __init__(self, kubernetes: KubernetesOnLoopback, caller: Caller) -> None:
        self._kubernetes = kubernetes
        self._caller = caller
        self._running: deque[tuple[float, str]] = deque()
        self.created = 0
        self.bound = 0

    def step(self) -> None:
        """One more pod; delete those whose time is over."""
        name, now = f"pod-{self.created}", time.monotonic()
        node = f"node-{self.created % NODES}"
        pod = pod_with(name, requests={SLOT: "1"}, node="", schedulerName=min(BERTH_SCHEDULERS))
        self._kubernetes.pods["default", name] = pod
        self.created += 1
        self._caller.post("/scheduler/filter", body_of({"Pod": pod, "NodeNames": [f"node-{n}" for n in range(NODES)]}))
        binding = {"PodName": name, "PodNamespace": "default", "PodUID": pod["metadata"]["uid"], "Node": node}
        self.bound += self._bind(body_of(binding))
        self._running.append((now, name))
        while self._running and self._running[0][0] < now - POD_SECONDS:
            del self._kubernetes.pods["default", self._running.popleft()[1]]

    def _bind(self, binding: str) -> bool:
        error = ""
        for _ in range(BIND_ATTEMPTS):
            error = self._caller.post("/scheduler/bind", binding).json["Error"]
            if not error:
                return True
            time.sleep(1)
        print(f"{binding}: {error}", file=sys.stderr)
        return False


def resident_megabytes(process: int) -> float:
    """Return the resident memory of this process now."""
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024 / 1e6


def main() -> int:
    """Print a line every 15 s and the growth at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.serve_memory", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--rate", type=float, default=5.0, help="pods a second")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, _kubernetes(Path(directory)) as (kubernetes, kubeconfig):
        kubernetes.leases[LEASE] = {"metadata": {"name": LEASE, "uid": "lease-1", "resourceVersion": "1"}}
        kubernetes.nodes = [node_with(f"node-{n}", allocatable={SLOT: "1000"}) for n in range(NODES)]
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
            return _run(process.pid, Pods(kubernetes, caller), chosen.minutes * 60, chosen.rate)
        finally:
            process.kill()
            process.wait()


@contextmanager
def _kubernetes(directory: Path) -> Iterator[tuple[KubernetesOnLoopback, Path]]:
    """The server, and its kubeconfig: Berth refuses plain HTTP."""
    certificate, key = self_signed(directory, "api-server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with kubernetes_on_loopback(tls) as kubernetes:
        authority = base64.b64encode(certificate.read_bytes()).decode()
        yield kubernetes, kubeconfig_for(kubernetes.host, directory, authority)


def _wait_for_ledger(caller: Caller) -> None:
    until = time.monotonic() + READY_SECONDS
    while len(caller.request("GET", "/reservations").json["nodes"]) < NODES:
        assert time.monotonic() < until, f"the ledger has no nodes after {READY_SECONDS:g} s"
        time.sleep(1)


def _run(process: int, pods: Pods, seconds: float, rate: float) -> int:
    started = time.monotonic()
    next_sample = started
    settled = 0.0
    while (elapsed := time.monotonic() - started) < seconds:
        pods.step()
        if time.monotonic() >= next_sample:
            next_sample += SAMPLE_SECONDS
            megabytes = resident_megabytes(process)
            settled = max(settled, megabytes) if elapsed < SETTLING_SECONDS else settled
            print(f"{elapsed:5.0f} s  {megabytes:6.1f} MB  {pods.bound} of {pods.created} pods bound", flush=True)
        time.sleep(max(0.0, pods.created / rate - (time.monotonic() - started)))
    growth = resident_megabytes(process) / settled - 1
    print(f"growth after {SETTLING_SECONDS:g} s: {growth:+.1%} of {settled:.1f} MB; at most {MOST_GROWTH:.0%}")
    return 0 if growth <= MOST_GROWTH and pods.bound == pods.created else 1


if __name__ == "__main__":
    sys.exit(main())
