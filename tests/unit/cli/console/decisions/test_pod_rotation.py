"""Which pods' decisions a console asks the table of a stack for."""

from __future__ import annotations

from collections.abc import Iterable

from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.decisions.pod_rotation import AFTER_SECONDS, FIRST_PODS, PodRotation
from tests.unit.cli.console.cases import node, pod, snapshot

NODES = [node("n1"), node("n2")]
MANY = 1000
BUDGET = 8


def cluster(*pods: Pod) -> Snapshot:
    return snapshot(NODES, pods)


def waiting(count: int) -> list[Pod]:
    return [pod(f"w{number}") for number in range(count)]


def placed(count: int) -> list[Pod]:
    return [pod(f"p{number}", "n1") for number in range(count)]


def names(found: Iterable[tuple[str, str]]) -> list[str]:
    return [name for _, name in found]


def test_pods_that_wait_are_asked_for_in_turn() -> None:
    rotation, seen = PodRotation(), cluster(*waiting(5))
    asked = [names(rotation.due(seen, now, 2)) for now in (0.0, 1.0, 2.0, 3.0)]
    assert sorted(asked[0] + asked[1] + asked[2][:1]) == [f"w{number}" for number in range(5)]
    assert asked[2][1:] + asked[3] == asked[0] + asked[1][:1]


def test_few_pods_that_wait_are_asked_for_once_a_second() -> None:
    rotation, seen = PodRotation(), cluster(*waiting(1))
    assert [names(rotation.due(seen, now, 2)) for now in (0.0, 0.5, 1.0)] == [["w0"], [], ["w0"]]


def test_pod_that_gets_a_node_is_asked_for_some_times_more() -> None:
    rotation = PodRotation()
    rotation.due(cluster(pod("p")), 0.0, MANY)
    after = cluster(pod("p", "n1"))
    times = [number / 2 for number in range(1, 200)]
    asked = [now for now in times if rotation.due(after, now, MANY)]
    assert asked == [0.5 + seconds for seconds in AFTER_SECONDS]


def test_pod_that_is_gone_is_asked_for_again() -> None:
    rotation = PodRotation()
    rotation.due(cluster(pod("p")), 0.0, MANY)
    assert names(rotation.due(cluster(), 0.5, MANY)) == ["p"]


def test_pod_that_was_never_seen_without_a_node_is_asked_for() -> None:
    rotation = PodRotation()
    rotation.due(cluster(), 0.0, MANY)
    assert names(rotation.due(cluster(pod("quick", "n2")), 0.5, MANY)) == ["quick"]


def test_pods_that_stay_on_their_nodes_are_not_asked_for() -> None:
    rotation = PodRotation()
    before = cluster(pod("stays", "n1"))
    for now in range(100):
        rotation.due(before, float(now), MANY)
    assert names(rotation.due(cluster(pod("stays", "n1"), pod("comes", "n1")), 200.0, MANY)) == ["comes"]


def test_first_question_is_for_the_pods_that_started_last() -> None:
    def started(number: int) -> Pod:
        return pod(f"p{number:03}", "n1", status={"startTime": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"})

    seen = cluster(pod("not-yet", "n1"), *map(started, range(FIRST_PODS + 20)))
    asked = sorted(names(PodRotation().due(seen, 0.0, MANY)))
    assert asked == ["not-yet", *(f"p{number:03}" for number in range(21, FIRST_PODS + 20))]


def test_pods_that_wait_keep_a_share_however_many_get_nodes() -> None:
    rotation = PodRotation()
    rotation.due(cluster(*waiting(3)), 0.0, MANY)
    asked = names(rotation.due(cluster(*waiting(3), *placed(50)), 1.0, BUDGET))
    assert (len(asked), [name for name in asked if name.startswith("w")]) == (BUDGET, ["w0", "w1"])


def test_pods_that_get_nodes_take_what_the_waiting_ones_leave() -> None:
    rotation = PodRotation()
    rotation.due(cluster(*waiting(1)), 0.0, MANY)
    seen = cluster(*waiting(1), *placed(50))
    first, second = rotation.due(seen, 1.0, BUDGET), rotation.due(seen, 1.1, BUDGET)
    assert (len(first), len(second), len({*first, *second})) == (BUDGET, BUDGET, 2 * BUDGET)
