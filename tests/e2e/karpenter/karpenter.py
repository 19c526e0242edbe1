"""Karpenter with its own kwok provider: its nodes are objects without machines, and a thread replaces their kubelets.

`make e2e-karpenter` builds Karpenter from the Go module, with the custom resource definitions beside the program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.kubernetes_api import ApiError, JsonObject, KubernetesApi
from tests.e2e.kubernetes.loopback import HOST, free_port, get_status
from tests.e2e.kubernetes.manifests import read_manifests

FOLDER = Path(__file__).parents[3] / ".build" / "karpenter"
BINARY = FOLDER / "kwok"

OWN_NODES = "karpenter.sh/nodepool"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POOLS = "/apis/karpenter.sh/v1/nodepools"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
OVERLAYS = "/apis/karpenter.sh/v1alpha1/nodeoverlays"
CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
KINDS = {"NodePool": POOLS, "NodeOverlay": OVERLAYS}
NODE_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}

START_SECONDS = 60
WAIT_SECONDS = 90

GPU = "nvidia.com/gpu"
PLAIN_TYPE, GPU_TYPE = "plain", "gpu"


def _instance_type(name: str, price: float, resources: Mapping[str, str]) -> JsonObject:
    where = {"karpenter.sh/capacity-type": "on-demand", "topology.kubernetes.io/zone": "zone-a"}
    requirements = [{"key": key, "operator": "In", "values": [value]} for key, value in where.items()]
    return {
        "name": name,
        "offerings": [{"Price": price, "Available": True, "Requirements": requirements}],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "memory": "8Gi", "pods": "110", **resources},
    }


INSTANCE_TYPES = [_instance_type(PLAIN_TYPE, 1.0, {}), _instance_type(GPU_TYPE, 9.0, {GPU: "1"})]


class Karpenter:
    """Karpenter's custom resources on the API server, and their states."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api

    def define(self) -> None:
        """Apply the custom resource definitions and the NodeClass."""
        for file in sorted(FOLDER.glob("*.yaml")):
            for definition in read_manifests(file):
                name = definition["metadata"]["name"]
                self.api.apply(f"{CRDS}/{name}", definition)
                self._wait_for_condition("Established", CRDS, name)
        node_class = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass"}
        self.api.apply(f"{CLASSES}/default", {**node_class, "metadata": {"name": "default"}})

    def apply(self, *documents: JsonObject) -> None:
        """Create or change NodePools and NodeOverlays, which the API server validates against their schemas."""
        for document in documents:
            self.api.apply(f"{KINDS[document['kind']]}/{document['metadata']['name']}", document)

    def wait_for_event(self, regarding: str, reason: str, text: str) -> str:
        """Wait for an event of Karpenter whose message contains this text. regarding: the object's UID, or a node."""
        found: list[str] = []
        for event in self.api.watch("/api/v1/events", {"fieldSelector": f"reason={reason}"}, seconds=WAIT_SECONDS):
            each = event["object"]
            about = each["involvedObject"]
            if regarding in (about.get("uid"), about["name"]) and each["source"].get("component") == "karpenter":
                found.append(each["message"])
                if text in found[-1]:
                    return found[-1]
        raise AssertionError(f"no event {reason} says {text!r}: {found}")

    def wait_until_ready(self, kind: str, name: str) -> None:
        """Wait until the object's condition Ready is true."""
        self._wait_for_condition("Ready", KINDS[kind], name)

    def wait_for_claim(self, condition: str, reason: str) -> None:
        """Wait until a NodeClaim has this reason for the condition. Karpenter sets it after the node has joined."""
        found: list[str] = []
        for event in self.api.watch(CLAIMS, {}, seconds=WAIT_SECONDS):
            conditions = event["object"].get("status", {}).get("conditions") or ()
            found += [each["reason"] for each in conditions if each["type"] == condition]
            if reason in found:
                return
        raise AssertionError(f"no NodeClaim is {condition} by {reason} within {WAIT_SECONDS} s, but by {found}")

    def wait_for_nodes(self, count: int) -> list[JsonObject]:
        """Wait until this many nodes of Karpenter exist, and return them."""
        nodes: dict[str, JsonObject] = {}
        if count == 0 and not self.nodes():
            return []  # a watch without objects has no events
        for event in self.api.watch("/api/v1/nodes", {"labelSelector": OWN_NODES}, seconds=WAIT_SECONDS):
            node = event["object"]
            nodes[node["metadata"]["name"]] = node
            if event["type"] == "DELETED":
                del nodes[node["metadata"]["name"]]
            if len(nodes) == count:
                return list(nodes.values())
        raise AssertionError(f"not {count} nodes within {WAIT_SECONDS} s, but {list(nodes)}")

    def nodes(self) -> list[JsonObject]:
        return [each for each in self.api.get("/api/v1/nodes")["items"] if OWN_NODES in each["metadata"]["labels"]]

    def clear(self) -> None:
        """Delete the remaining objects. Karpenter no longer runs, so remove its finalizers first."""
        for path in (POOLS, OVERLAYS, CLAIMS, "/api/v1/nodes"):
            for item in self.api.get(path)["items"]:
                with suppress(ApiError):
                    self.api.patch(f"{path}/{item['metadata']['name']}", {"metadata": {"finalizers": None}})
            self.api.delete(path)

    def _wait_for_condition(self, condition: str, path: str, name: str) -> None:
        for event in self.api.watch(path, {"fieldSelector": f"metadata.name={name}"}, seconds=WAIT_SECONDS):
            conditions = event["object"].get("status", {}).get("conditions") or ()
            if any((each["type"], each["status"]) == (condition, "True") for each in conditions):
                return
        raise AssertionError(f"{name} is not {condition} within {WAIT_SECONDS} s")


class Kubelets(Thread):
    """Sets the condition Ready of each new node of the provider. lost: resources that no kubelet reports."""

    def __init__(self, api: KubernetesApi, lost: Sequence[str] = ()) -> None:
        super().__init__(daemon=True)
        self._api = api
        self._lost = lost
        self._ended = False

    def run(self) -> None:
        while not self._ended:
            for event in self._api.watch("/api/v1/nodes", {"labelSelector": OWN_NODES}, seconds=3):
                node = event["object"]
                if event["type"] != "DELETED" and not node["status"].get("conditions"):
                    self._report(node["metadata"]["name"])

    def end(self) -> None:
        self._ended = True
        self.join()

    def _report(self, name: str) -> None:
        status: JsonObject = {"conditions": [{"type": "Ready", "status": "True"}]}
        status |= {field: dict.fromkeys(self._lost) for field in ("capacity", "allocatable") if self._lost}
        # The node may be gone.
        with suppress(ApiError):
            self._api.patch(f"/api/v1/nodes/{name}/status", {"status": status})


@contextmanager
def running(control_plane: ControlPlane, directory: Path, lost: Sequence[str] = ()) -> Iterator[Karpenter]:
    """Run Karpenter and kubelets until the context exits. lost: see Kubelets."""
    api, port = KubernetesApi(control_plane.credentials()), free_port()
    karpenter, kubelets = Karpenter(api), Kubelets(KubernetesApi(control_plane.credentials()), lost)
    karpenter.define()
    types = directory / "instance-types.json"
    types.write_text(json.dumps(INSTANCE_TYPES))
    environment = {
        "KUBECONFIG": str(control_plane.kubeconfig()),
        "DISABLE_LEADER_ELECTION": "true",
        "SYSTEM_NAMESPACE": "kube-system",
        "KARPENTER_SERVICE": "karpenter",
        "MEMORY_LIMIT": str(1 << 30),
        "CPU_REQUESTS": "1000",
        "LOG_LEVEL": "debug",
        "METRICS_PORT": "0",
        "HEALTH_PROBE_PORT": str(port),
        "INSTANCE_TYPES_FILE_PATH": str(types),
        "FEATURE_GATES": "NodeOverlay=true",
    }
    process = ChildProcess([BINARY], directory / "karpenter.log", environment)
    kubelets.start()
    try:
        process.wait_until(lambda: get_status(f"http://{HOST}:{port}/readyz") == 200, seconds=START_SECONDS)
        yield karpenter
    finally:
        process.stop()
        kubelets.end()
        karpenter.clear()
