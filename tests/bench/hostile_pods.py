"""`python -m tests.bench.hostile_pods [-n NODES] [PART OF A NAME]`: hostile pods beside a plain one, in milliseconds.

For each pod: its size, the first call of its shape (cold) and a later one (warm), of filter and of prioritize, under
the profile `full`. Below a second cold, and below ten times a plain pod warm, is the aim. Times are of
the processor. Asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import orjson

from tests.bench.calls import Environment, Verb
from tests.bench.cluster import Manifest, plain_pod
from tests.builders.hostile_pods import SPECS, hostile_pod

WARM_CALLS = 3


def milliseconds(verb: Verb, pod: Manifest, nodes: int) -> tuple[float, float]:
    """Cold, and the median of the warm calls."""
    environment = Environment(verb, "full", pod, nodes)
    environment.answer()
    environment.forget()
    times = []
    for _ in range(1 + WARM_CALLS):
        before = time.process_time()
        environment.answer()
        times.append((time.process_time() - before) * 1000)
    return times[0], sorted(times[1:])[WARM_CALLS // 2]


def main() -> None:
    """A line for each pod."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hostile_pods", description=__doc__)
    parser.add_argument("-n", "--nodes", type=int, default=5000)
    parser.add_argument("part", nargs="?", default="")
    arguments = parser.parse_args()
    # The log line of a call is measured, and not shown.
    figures_to, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    print(f"{'':50}{'kB':>6}{'filter':>17}{'prioritize':>18}  (cold, warm; ms)", file=figures_to)
    pods = {"plain": plain_pod()}
    pods |= {name: hostile_pod(name, plain_pod()) for name in SPECS if arguments.part in name}
    for name, pod in pods.items():
        figures = [*milliseconds("filter", pod, arguments.nodes), *milliseconds("prioritize", pod, arguments.nodes)]
        text = "".join(f"{figure:9.0f}" for figure in figures)
        print(f"{name:50}{len(orjson.dumps(pod)) / 1000:6.0f}{text}", file=figures_to, flush=True)


if __name__ == "__main__":
    main()
