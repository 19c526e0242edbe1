"""Generates docs/reference/kubernetes-versions.md: differences between kube-scheduler versions for extenders."""

from __future__ import annotations

from tests.scheduler_facts.facts import MEASURED, Facts
from tools.reference.markdown import page, table

INTRODUCTION = """Berth is tested with these versions of Kubernetes. `make e2e` and `make parity` run with one of them
(`KUBERNETES=1.34`), `make nightly` with all. `berth doctor` warns if a cluster has another version.

The table shows the facts of the [extender contract](extender-contract.md) that depend on the scheduler.
`python -m tests.scheduler_facts` measures them with the scheduler and the API server of each version, and an extender
that answers immediately, on two shared cores. So counts and times differ from run to run. `make e2e` repeats the
measurement and compares only its meaning: whether a pod is retried endlessly, whether a change wakes it, whether the
scheduler calls a verb."""

ROWS = """
15 | filter calls in 20 s: one pod, 20 nodes with lower-priority pods, all in `FailedNodes` | failed_nodes
15 | preempt calls in the same time (k/k#135486 would make them) | preempt_after_failed_nodes
15, 41 | filter calls in 20 s: the same nodes in `FailedAndUnresolvableNodes` | unresolvable_nodes
42 | filter calls in 20 s: answers with `Error` | errors
43 | ms from a patch of an unused CSIStorageCapacity to the next filter call | wake_up_by_storage_capacity
43 | ms from a patch of a node's annotations | wake_up_by_node
43 | ms from a patch of the pod's own annotations | wake_up_by_own_annotation
44 | filter calls a second: 30 rejected pods, and another pod's status changes 5 times a second | retry_storm
25 | preempt calls for one pod that needs an eviction | preempt_calls
10 | names, of 2 nodes, in the first filter call for a pod with a nominated node | nodes_asked_for_nominated_pod
27 | preempt response that contains a node without victims | empty_victims
46 | prioritize calls when one node is left | prioritize_of_one_node
13 | pods of 10 that full mode places on the fuller of two nodes | placed_on_fuller_node
"""
"""The rows of the table: fact number, measurement, and field of `Facts`."""


def kubernetes_versions() -> str:
    measured = [Facts.read(path) for path in sorted(MEASURED.glob("*.json"))]
    releases = [facts.kubernetes.removeprefix("v") for facts in measured]
    rows = [line.split(" | ") for line in ROWS.strip().splitlines()]
    values = [(fact, text, *(str(getattr(facts, field)) for facts in measured)) for fact, text, field in rows]
    shown = table(("fact", "measured", *releases), values)
    return page("Versions of Kubernetes", "tests/scheduler_facts/measured", (INTRODUCTION, shown))
