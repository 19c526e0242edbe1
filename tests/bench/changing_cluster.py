"""`python -m tests.bench.changing_cluster FOLDER NODES CHANGES`: an API server with this many pod changes a second.

A change is a pod that comes to a node or leaves it. The kubeconfig is FOLDER/kubeconfig.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

import orjson

from tests.bench import cluster, list_server
from tests.bench.cluster import Manifest

PODS_PER_NODE = 10
PAGE = 500


def write(folder: Path, nodes: int) -> None:
    """The pages of the lists."""
    _write_pages(folder, "nodes", [cluster.node_manifest(index) for index in range(nodes)])
    _write_pages(folder, "pods", [_pod(number, nodes, "old") for number in range(nodes * PODS_PER_NODE)])


def changes(nodes: int, per_second: float) -> Iterator[bytes]:
    """Lines of a watch of pods, at their times: one pod comes, one leaves."""
    began, versions = time.monotonic(), count(2)
    for number in cycle(range(nodes)):
        for kind in ("ADDED", "DELETED"):
            version = next(versions)
            pod = _pod(number, nodes, "new")
            pod["metadata"]["resourceVersion"] = str(version)
            time.sleep(max(0.0, began + version / per_second - time.monotonic()))
            yield orjson.dumps({"type": kind, "object": pod})


def _pod(number: int, nodes: int, prefix: str) -> Manifest:
    manifest = cluster.pod_manifest(number % cluster.CONTROLLERS)
    name = f"{prefix}-{number}"
    manifest["metadata"] |= {"name": name, "uid": name, "resourceVersion": "1"}
    manifest["spec"]["nodeName"] = cluster.node_name(number % nodes)
    manifest["status"]["phase"] = "Running"
    return manifest


def _write_pages(folder: Path, resource: str, objects: list[Manifest]) -> None:
    for start in range(0, len(objects), PAGE):
        (folder / f"{resource}-{start:07}").write_bytes(orjson.dumps({"items": objects[start : start + PAGE]}))


def main(folder: Path, nodes: int, per_second: float) -> None:
    """Serve until the process is ended."""
    write(folder, nodes)
    with list_server.serve(
        folder, lambda resource: changes(nodes, per_second) if resource == "pods" and per_second else ()
    ):
        threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
