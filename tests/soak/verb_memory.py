"""`python -m tests.soak.verb_memory [--shapes N] [--nodes N] [VERB …]`: memory of the verbs under hostile pods.

Each pod has another shape, and a field as long as the API server allows. An hour at one pod a second brings 3,600; they
are sent one after the other without a pause. Each verb runs in a process of its own, under the profile `full`, with the
memory for verdicts that its function would have. Exit status 1 if a process takes more than 60 % of the function's
MemorySize. The process has the cluster, and the test's own modules besides.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import orjson

from berth.extender import filter as filtering
from berth.extender import preempt, prioritize
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure
from berth.extender.ports import DecisionContext, NodeCache
from berth.extender.reply import Reply
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.runtime.settings import PolicySettings
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.bench import cluster
from tests.bench.calls import event
from tests.bench.preempt import preempt_event
from tests.bench.process import peak_megabytes
from tests.builders.hostile_pods import SPECS, hostile_pod

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"
HOUR = 3_600
MOST_OF_MEMORY = 0.6
LINES = 10
PREEMPTED_NODES = 100

Answer = Callable[..., Reply]
Failed = Callable[[Failure], Reply]
VERBS: dict[str, tuple[Answer, Failed]] = {
    "filter": (filtering.answer_filter, filtering.failed),
    "prioritize": (prioritize.answer_prioritize, prioritize.failed),
    "preempt": (preempt.answer_preempt, preempt.failed),
}


class Cache(NodeCache):
    """A cluster that does not change."""

    def __init__(self, policy: Policy, snapshot: Snapshot) -> None:
        self._policy, self._snapshot = policy, snapshot

    def current(self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS) -> DecisionContext:
        return DecisionContext(self._policy, self._snapshot)

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._policy


def distinct_pod(name: str, number: int) -> dict[str, Any]:
    """A hostile pod whose shape no other has."""
    pod = hostile_pod(name, cluster.plain_pod())
    pod["metadata"]["name"] = f"hostile-{number}"
    pod["metadata"]["labels"]["shape"] = str(number)
    pod["spec"]["tolerations"] = [*pod["spec"]["tolerations"], {"key": f"shape-{number}", "operator": "Exists"}]
    pod["spec"]["priority"] = 1000
    return pod


def memory_size(cluster_size: str) -> int:
    """Of the verbs of template.yaml, in MB, for a ClusterSize."""
    found = re.search(rf"^    {cluster_size}: {{VerbMemory: (\d+),", TEMPLATE.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def run(verb: str, shapes: int, nodes: int) -> bool:
    """Send the pods to this verb in this process. Returns whether its memory stayed within the limit."""
    # The log line of a call is not shown.
    figures_to, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    answer, failed = VERBS[verb]
    size = memory_size("large")
    settings = PolicySettings.from_environ({"BERTH_CACHE_TABLE": "t", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(size)})
    snapshot = cluster.snapshot(nodes)
    policy = BerthConfiguration(profile="full").policy(settings.remembered_bytes)
    endpoint = VerbEndpoint(verb, EndpointSettings(), partial(answer, cache=Cache(policy, snapshot)), failed)
    names = next(cluster.requested_names(nodes))
    victims = {name: [snapshot.nodes[name].pods[0].uid] for name in list(snapshot.nodes)[:PREEMPTED_NODES]}
    limit = size * 1.048576 * MOST_OF_MEMORY
    started, before = time.monotonic(), peak_megabytes()
    every = max(1, shapes // LINES)
    for number, name in enumerate(islice(cycle(SPECS), shapes), 1):
        pod = distinct_pod(name, number)
        sent = preempt_event(pod, victims) if verb == "preempt" else event("filter", pod, names)
        endpoint.handle(orjson.loads(sent))
        if number % every == 0:
            print(f"{verb:10} {number:5} shapes  peak {peak_megabytes():6.0f} MB", file=figures_to, flush=True)
    peak = peak_megabytes()
    sys.stdout = figures_to
    print(
        f"{verb}: peak {peak:.0f} MB after {shapes} shapes, {before:.0f} MB before; at most {limit:.0f} MB, "
        f"{MOST_OF_MEMORY:.0%} of {size} MB; {time.monotonic() - started:.0f} s"
    )
    return peak <= limit


def main() -> int:
    """Each verb in a child process, if there is more than one, as many at once as there are processors."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.verb_memory", description=__doc__)
    parser.add_argument("--shapes", type=int, default=HOUR)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("verbs", nargs="*", metavar="VERB", help=", ".join(VERBS))
    chosen = parser.parse_args()
    verbs = chosen.verbs or list(VERBS)
    if len(verbs) == 1:
        return 0 if run(verbs[0], chosen.shapes, chosen.nodes) else 1
    sizes = [f"--shapes={chosen.shapes}", f"--nodes={chosen.nodes}"]

    def in_a_process(verb: str) -> int:
        return subprocess.run([sys.executable, "-m", "tests.soak.verb_memory", *sizes, verb], check=False).returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(in_a_process, verbs))


if __name__ == "__main__":
    sys.exit(main())
