"""`berth demo` in a pipe prints the same text every time, apart from the duration."""

from __future__ import annotations

import subprocess
import sys

import pytest

DEMO = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')", "demo"]

OUTCOMES = [
    "web-1 runs on node-c",
    "web-2 runs on node-a",
    "web-3 runs on node-b",
    "web-4 is Pending: 0/4 nodes are available: 4 node(s) didn't have the priority label priority.lixueduan.com.",
    "the scheduler alone: 3 of 30 pods are Pending: "
    "0/15 nodes are available: 12 Insufficient nvidia.com/gpu, 6 Insufficient cpu.",
    "with resource-segregation: all 30 pods run",
    "api-19 is Pending: 0/15 nodes are available: "
    "6 node(s) were reserved for pods that ask for their resources, 9 Insufficient cpu.",
    *[f"train-{number} is Pending: 0/3 nodes are available: 3 gang does not fit." for number in (1, 2, 3, 4)],
    "berth gangs list: ml/train needs 4 x 8 nvidia.com/gpu, there is room for 3 on 3 nodes",
    "notebook runs on gpu-node-1",
    "all 4 pods of ml/train run: on gpu-node-1, gpu-node-2, gpu-node-3, gpu-node-4",
    "inference-10 is Pending: 0/3 nodes are available: 3 Insufficient example.com/gpu-memory.",
    "inference-11 is Pending: 0/3 nodes are available: 3 Insufficient example.com/gpu-memory.",
    "10 pods run; the ledger knows the reserved amounts before the node cache does",
    "inference-10 runs",
    "inference-11 is Pending: 0/3 nodes are available: 3 Insufficient example.com/gpu-memory.",
]

DEVICE_SHARES = """\
                           after inference-1 ended   after the next pod is bound
  node-a GPU 0, 8000 MiB   3000 2000                 3000 3000 2000
  node-a GPU 1, 8000 MiB   3000 3000                 3000 3000
  node-b GPU 0, 16000 MiB  3000 3000 3000 3000 3000  3000 3000 3000 3000 3000
"""


@pytest.mark.long
def test_demo_prints_the_expected_outcome_of_each_scenario() -> None:
    done = subprocess.run(DEMO, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    assert DEVICE_SHARES in done.stdout
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert [line for line in lines if line in OUTCOMES] == OUTCOMES
    assert "\x1b" not in done.stdout
