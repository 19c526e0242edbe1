"""`berth simulate` on the examples, beside the pages that show its output."""

from __future__ import annotations

import json
from collections import Counter

from tests.conftest import PROJECT

from .simulating import places, run

EXAMPLE = PROJECT / "examples" / "resource-segregation"
COUNTED = PROJECT / "examples" / "counted-resources"
COUNTED_FILES = {"cluster": "cluster.yaml", "pod": "pods.yaml", "config": "configuration.yaml"}


def test_resource_segregation_example_separates_pods() -> None:
    cluster, pods = str(EXAMPLE / "cluster.yaml"), str(EXAMPLE / "pods.yaml")
    before = places("--cluster", cluster, "--pod", pods)
    after = places("--cluster", cluster, "--pod", pods, "--config", str(EXAMPLE / "configuration.yaml"))
    assert sum(node is None for node in before.values()) == 3
    assert {name[:3] for name, node in before.items() if node is not None and node.startswith("gpu")} == {"api", "tra"}
    assert {(name[:3], str(node)[:3]) for name, node in after.items()} == {("api", "cpu"), ("tra", "gpu")}


def test_counted_resources_example_never_overcommits() -> None:
    files = [f"--{what}={COUNTED / name}" for what, name in COUNTED_FILES.items()]
    done = run(*files, "-o", "json")
    assert (done.exit_code, done.stderr) == (1, "")
    found = json.loads(done.stdout)
    placed = Counter(
        (pod["node"], pod["devices"]["example.com/gpu-memory"])
        for pod in found["pods"]
        if pod["node"] and pod["name"].startswith("inference")
    )
    # 3,000 MiB each, of 8,000, 8,000 and 16,000; a quarter of 8,000 is what is left of one of the small ones.
    assert placed == {("node-a", 0): 2, ("node-a", 1): 2, ("node-b", 0): 5}
    [notebook] = [pod for pod in found["pods"] if pod["name"] == "notebook-1"]
    assert (notebook["node"], notebook["devices"]) == ("node-a", {"example.com/gpu-memory": 0})
    licences = Counter(pod["node"] for pod in found["pods"] if pod["name"].startswith("solver"))
    assert licences == {"node-a": 2, "node-b": 2, "node-c": 2, None: 3}
    assert {pod["message"] for pod in found["pods"] if not pod["node"]} == {
        "0/3 nodes are available: 3 Insufficient example.com/gpu-memory.",
        "0/3 nodes are available: 3 Insufficient example.com/licence.",
    }
