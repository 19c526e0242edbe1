"""examples/sidecar as a kubelet runs it: both containers with the files, arguments and rights of the pod."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
import yaml

from .berth.berth_serve import COMMAND, START_SECONDS
from .berth.label_priority import priority
from .kubernetes.child_process import ChildProcess
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import Credentials, JsonObject, KubernetesApi
from .kubernetes.loopback import HOST, free_port
from .kubernetes.manifests import apply_manifests, read_manifests

EXAMPLES = Path(__file__).parents[2] / "examples"
NAME, NAMESPACE = "berth-sidecar", "kube-system"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
CLUSTER_ADDRESS = "https://kubernetes.default.svc"
ADDRESS = "127.0.0.1:8080"


class Pod:
    """The pod of the Deployment on this machine, with its volumes in a directory and with another port."""

    def __init__(self, documents: list[JsonObject], account: Credentials, directory: Path) -> None:
        [deployment] = [each for each in documents if each["kind"] == "Deployment"]
        [config] = [each for each in documents if each["kind"] == "ConfigMap"]
        self._containers = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["containers"]}
        self._directory = directory
        self.port = free_port()
        self._replacements = {
            CLUSTER_ADDRESS: account.server,
            ACCOUNT: f"{directory}{ACCOUNT}",
            "/etc/berth/": f"{directory}/etc/berth/",
            ADDRESS: f"{HOST}:{self.port}",
            "--port=8080": f"--port={self.port}",
            '"127.0.0.1", 8080': f'"{HOST}", {self.port}',
            "--plugins=": f"--plugins={directory}",
        }
        for folder in (ACCOUNT, "/etc/berth"):
            (directory / folder.lstrip("/")).mkdir(parents=True)
        self._path(f"{ACCOUNT}/token").write_text(account.token)
        self._path(f"{ACCOUNT}/ca.crt").write_bytes(account.ca_file.read_bytes())
        for name, text in config["data"].items():
            self._path(f"/etc/berth/{name}").write_text(self._localized(text))

    def arguments(self, container: str) -> list[str]:
        return [self._localized(each) for each in self._containers[container]["args"]]

    def configuration(self) -> JsonObject:
        [path] = [each for each in self.arguments("kube-scheduler") if each.startswith("--config=")]
        found: JsonObject = yaml.safe_load(Path(path.removeprefix("--config=")).read_text())
        return found

    def probe(self, name: str) -> int:
        """Return the exit status of a probe of Berth's container. Its command is a Python script."""
        _, *arguments = self._containers["berth"][name]["exec"]["command"]
        done = subprocess.run([sys.executable, *map(self._localized, arguments)], check=False, capture_output=True)
        return done.returncode

    @contextmanager
    def berth(self) -> Iterator[None]:
        process = ChildProcess([COMMAND, *self.arguments("berth")], log=self._directory / "berth.log")
        try:
            process.wait_until(lambda: self.probe("startupProbe") == 0, seconds=START_SECONDS)
            yield
        finally:
            process.stop()

    def _path(self, path: str) -> Path:
        return self._directory / path.lstrip("/")

    def _localized(self, text: str) -> str:
        for original, replacement in self._replacements.items():
            text = text.replace(original, replacement)
        return text


@pytest.fixture(scope="module")
def documents(control_plane: ControlPlane) -> list[JsonObject]:
    """Apply the manifests to the API server, which rejects unknown fields, and return them."""
    found = read_manifests(EXAMPLES / "sidecar" / "sidecar.yaml")
    api = KubernetesApi(control_plane.credentials())
    apply_manifests(api, read_manifests(EXAMPLES / "rbac.yaml"))
    apply_manifests(api, found)
    return found


@pytest.fixture
def pod(documents: list[JsonObject], control_plane: ControlPlane, tmp_path: Path) -> Pod:
    return Pod(documents, control_plane.service_account(NAMESPACE, NAME), tmp_path)


def test_sidecar_places_and_wakes_pods(pod: Pod, cluster: Cluster, control_plane: ControlPlane) -> None:
    account = control_plane.service_account(NAMESPACE, NAME)
    best, good = cluster.create_node("best", priority(30), cpu="2"), cluster.create_node("good", priority(10))
    with pod.berth(), control_plane.scheduler(pod.configuration(), account):
        other = cluster.create_pod("other")
        web = cluster.create_pod("web", scheduler=NAME)
        assert cluster.wait_until_assigned(web) == best
        assert cluster.state(other).node is None

        # A pending pod is placed after a node has changed.
        nodes = [cluster.create_node("bare", cpu="64")]
        large = cluster.create_pod("large", scheduler=NAME, cpu="32")
        cluster.wait_for_failed_scheduling(large, "0/3 nodes are available:")
        cluster.relabel(nodes[0], priority(1))
        assert cluster.wait_until_assigned(large) == nodes[0]
    assert good


def test_probes_succeed_only_while_berth_runs(pod: Pod) -> None:
    probes = ("startupProbe", "readinessProbe", "livenessProbe")
    assert [pod.probe(name) == 0 for name in probes] == [False, False, False]
    with pod.berth():
        assert [pod.probe(name) for name in probes] == [0, 0, 0]
        assert urllib3.request("GET", f"http://{HOST}:{pod.port}/healthz").status == 200
