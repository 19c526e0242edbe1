"""The checks of tests/chaos can fail: each is shown a cluster in which something is wrong."""

from __future__ import annotations

import pytest

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger
from berth.scheduling.objects.pod import PodKey
from tests.chaos.checks import differences, expected_ledger, recorded_ledger, unplaced
from tests.chaos.cluster_model import CAPACITY, MEMORY, NODES, SLOT, PodOnAccount, held, overcommitted

APART = "0/5 nodes are available: 5 node(s) didn't match pod anti-affinity rules."


def pod(
    name: str, *, node: str = "", device: str = "", message: str = "", team: str = "", **request: int
) -> PodOnAccount:
    names = {"slot": SLOT, "memory": MEMORY}
    asked = {names[each]: amount for each, amount in request.items()}
    return PodOnAccount("default", name, name, node, asked, device, message, team)


FULL = [
    pod(f"full-{number}-{half}", node=node, device=str(half), slot=4, memory=8000)
    for number, node in enumerate(NODES)
    for half in range(2)
]


@pytest.mark.parametrize(
    ("pods", "messages"),
    [
        ([pod("waits", slot=1)], ["default/waits waits, and fits on node-0: it has no reason"]),
        ([*FULL, pod("waits", slot=1, message=f"0/5 nodes are available: 5 Insufficient {SLOT}.")], []),
        (
            [*FULL, pod("waits", slot=1, message="the ledger is not ready")],
            ["default/waits waits for another reason than that nothing is left: the ledger is not ready"],
        ),
        (
            [*(pod(f"blue-{node}", node=node, team="blue") for node in NODES), pod("p", team="blue", message=APART)],
            [],
        ),
        (
            [pod("blue", node="node-0", team="blue"), pod("p", team="blue", message=APART)],
            [f"default/p waits, and fits on node-1: {APART}"],
        ),
        (
            [*(pod(f"blue-{node}", node=node, team="blue") for node in NODES), pod("p", team="blue", message="no")],
            ["default/p waits for another reason than that nothing is left: no"],
        ),
        ([*FULL, pod("plain")], ["default/plain waits, and fits on node-0: it has no reason"]),
        ([*FULL[1:], pod("waits", slot=1, memory=8001, message=f"5 Insufficient {MEMORY}")], []),
        (FULL, []),
    ],
)
def test_names_pods_that_wait_without_a_true_reason(pods: list[PodOnAccount], messages: list[str]) -> None:
    assert unplaced(pods) == messages


@pytest.mark.parametrize(
    ("pods", "messages"),
    [
        ([pod("a", node="node-0", slot=8)], ""),
        ([pod("a", node="node-0", slot=5), pod("b", node="node-0", slot=4)], f"9 of 8 {SLOT}"),
        (
            [pod("a", node="node-0", memory=6000, device="1"), pod("b", node="node-0", memory=3000, device="1")],
            f"9000 of 8000 {MEMORY}#1",
        ),
        ([pod("a", node="node-0", memory=100, device="2")], f"100 of 0 {MEMORY}#2"),
        ([pod("a", node="node-0", memory=100)], f"100 {MEMORY} of no device"),
    ],
)
def test_names_what_is_held_beyond_the_capacity(pods: list[PodOnAccount], messages: str) -> None:
    assert overcommitted(held(pods)["node-0"]) == messages


def ledger(avail: int, *entries: Entry) -> NodeLedger:
    left = dict(CAPACITY) | {SLOT: avail}
    return NodeLedger("node-0", CAPACITY, left, {}, {each.pod.uid: each for each in entries}, 3)


def entry(name: str, state: EntryState = EntryState.BOUND) -> Entry:
    return Entry(PodKey("default", name, name), state, "", {SLOT: 2}, 0.0)


ON_NODE = [pod("a", node="node-0", slot=2)]


@pytest.mark.parametrize(
    ("found", "messages"),
    [
        (ledger(6, entry("a")), []),
        (ledger(6, entry("a", EntryState.RESERVED)), [f"on node-0: default/a: there is 2 {SLOT}, reserved"]),
        (ledger(4, entry("a"), entry("b")), ["on node-0: default/b is not in the cluster", "there is 4 left of 8"]),
        (ledger(8), ["on node-0: default/a is missing", "there is 8 left of 8"]),
    ],
)
def test_names_where_the_ledger_differs_from_the_cluster(found: NodeLedger, messages: list[str]) -> None:
    differing = differences("on", expected_ledger(ON_NODE, ["node-0"]), recorded_ledger([found]))
    assert len(differing) == len(messages)
    assert all(expected in line for expected, line in zip(messages, differing, strict=True)), differing
