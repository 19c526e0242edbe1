"""Facts 15a and 25 to 34 of docs/reference/extender-contract.md, for policies that look at pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES, POD_DISRUPTION_BUDGETS, PODS
from berth.extender.filter import answer_filter, answer_filter_onlyone
from berth.extender.outcomes import PreemptOutcome
from berth.extender.ports import CacheUnavailable
from berth.extender.preempt import AnsweredVictims, answer_preempt
from berth.extender.reply import Reply
from berth.scheduling.configuration.document import BerthConfiguration, WhenStale
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.builders.requests import Request, body_of, cache_mode, victims_by_uid, victims_in_full
from tests.fakes.node_cache import FixedNodeCache
from tests.fakes.verbs import Verbs

Object = dict[str, Any]

FULL = BerthConfiguration.model_validate({"profile": "full"})
DB = {"app": "db"}


def urgent(cpu: str = "4", **fields: Any) -> Object:
    return pod_with("urgent", requests={"cpu": cpu}, **{"priority": 100, **fields})


def placed(name: str, priority: int = 0, cpu: str = "1", node: str = "n", **fields: Any) -> Object:
    return pod_with(name, DB, nodeName=node, priority=priority, requests={"cpu": cpu}, **fields)


def leaving(name: str, cpu: str) -> Object:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    metadata, status = {"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"conditions": [condition]}
    return placed(name, cpu=cpu, metadata=metadata, status=status)


BUDGET = {
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "db", "namespace": "default"},
    "spec": {"selector": {"matchLabels": DB}},
    "status": {"disruptionsAllowed": 1},
}


def preempt(request: Request, *objects: Mapping[str, object], configuration: BerthConfiguration = FULL) -> Reply:
    return answer_preempt(body_of(request), FixedNodeCache.of(configuration, *objects))


def victims(reply: Reply) -> dict[str, list[str]]:
    """Return the UIDs of the response's victims by node, after checking the form of the response."""
    assert reply.status == 200
    assert b"null" not in reply.body
    answer = orjson.loads(reply.body)
    assert list(answer) == ["NodeNameToMetaVictims"]
    found = {node: [pod["UID"] for pod in each["Pods"]] for node, each in answer["NodeNameToMetaVictims"].items()}
    assert all(found.values())
    return found


MODES = [
    pytest.param(lambda candidates, pod: victims_by_uid(candidates, pod=pod), id="cache mode"),
    pytest.param(
        lambda candidates, pod: victims_in_full(
            {node: [placed(uid.removeprefix("uid-"), node=node) for uid in uids] for node, uids in candidates.items()},
            pod=pod,
        ),
        id="full mode",
    ),
]


@pytest.mark.parametrize("request_of", MODES)
def test_fact_25_both_modes_return_the_same_response(request_of: Any) -> None:
    request = request_of({"n": ["uid-a"], "m": ["uid-c"]}, urgent())
    cluster = node_with("n"), placed("a"), placed("b"), node_with("m"), placed("c", node="m")
    assert preempt(request, *cluster).body == (
        b'{"NodeNameToMetaVictims":{'
        b'"n":{"Pods":[{"UID":"uid-a"},{"UID":"uid-b"}],"NumPDBViolations":0},'
        b'"m":{"Pods":[{"UID":"uid-c"}],"NumPDBViolations":0}}}'
    )


@pytest.mark.parametrize("request_of", MODES)
def test_fact_26_adds_victims_on_requested_nodes_and_does_not_add_nodes(request_of: Any) -> None:
    cluster = node_with("n"), placed("a"), placed("b"), node_with("m"), placed("c", node="m", cpu="4")
    assert victims(preempt(request_of({"n": ["uid-a"]}, urgent()), *cluster)) == {"n": ["uid-a", "uid-b"]}


@pytest.mark.parametrize("request_of", MODES)
def test_fact_27_never_returns_a_node_with_empty_victims(request_of: Any) -> None:
    request = request_of({"full": [], "fits": []}, urgent())
    cluster = node_with("full"), placed("a", node="full"), node_with("fits")
    assert victims(preempt(request, *cluster)) == {"full": ["uid-a"]}


def test_fact_28_returns_an_empty_map_if_every_node_is_rejected() -> None:
    reply = preempt(victims_by_uid({"n": ["uid-a"]}, pod=urgent("5")), node_with("n"), placed("a"))
    assert (victims(reply), reply.outcome) == ({}, PreemptOutcome.NO_CANDIDATES)


@pytest.mark.parametrize(
    "violations", ["-1", "2147483648", "9223372036854775808", "1" + "0" * 30, "true", '"1"', "0.5"]
)
def test_fact_28_call_fails_if_number_of_violations_is_invalid(violations: str) -> None:
    body = body_of(victims_by_uid({"n": ["uid-a"]})).replace('"NumPDBViolations":0', f'"NumPDBViolations":{violations}')
    assert answer_preempt(body, FixedNodeCache.of(FULL, node_with("n"))).status == 400


@pytest.mark.parametrize("request_of", MODES)
def test_fact_29_sorts_added_victims_by_priority(request_of: Any) -> None:
    cluster = node_with("n"), placed("a", 3), placed("b", 9, "2"), placed("c", 5)
    assert victims(preempt(request_of({"n": ["uid-a"]}, urgent()), *cluster)) == {"n": ["uid-b", "uid-c", "uid-a"]}


def test_fact_29_sorts_uids_by_priorities_from_the_cache() -> None:
    cluster = node_with("n"), placed("a", 3), placed("b", 9)
    assert victims(preempt(victims_by_uid({"n": ["uid-a", "uid-b"]}, pod=urgent()), *cluster)) == {
        "n": ["uid-b", "uid-a"]
    }


@pytest.mark.parametrize(
    "priority",
    [pytest.param(100, id="equal"), pytest.param(101, id="higher"), pytest.param(2_000_001_000, id="system")],
)
def test_fact_29_does_not_evict_pod_of_equal_or_higher_priority(priority: int) -> None:
    cluster = node_with("n"), placed("a", priority), node_with("m"), placed("b", node="m")
    by_uid = victims_by_uid({"n": ["uid-a"], "m": ["uid-b"]}, pod=urgent())
    in_full = victims_in_full({"new": [placed("x", priority)], "m": [placed("b")]}, pod=urgent())
    assert victims(preempt(by_uid, *cluster)) == victims(preempt(in_full, *cluster)) == {"m": ["uid-b"]}


def test_logs_number_of_rejected_nodes_by_reason() -> None:
    cluster = (
        *(node_with("a"), placed("va", 100, node="a")),
        *(node_with("b", allocatable={"cpu": "1"}), placed("vb", node="b")),
        *(node_with("c"), placed("vc", node="c"), placed("wc", 100, node="c")),
        *(node_with("d"), placed("vd", node="d", cpu="4")),
        node_with("e"),
    )
    request = victims_by_uid({**{name: [f"uid-v{name}"] for name in "abcd"}, "e": []}, pod=urgent())
    request["NodeNameToMetaVictims"]["f"] = "v"  # type: ignore[index]
    reply = preempt(request, *cluster)
    assert victims(reply) == {"d": ["uid-vd"]}
    assert reply.detail.split("; ") == [
        "1 of 6 nodes with victims",
        "1 left out: the victims of a node are not an object",
        "1 left out: a victim's priority is not lower than the pod's",
        "1 left out: no eviction makes the node good for the pod",
        "1 left out: there is no room even without all pods of lower priority",
        "1 left out: no victim is proposed and none is needed",
    ]
    one = BerthConfiguration.model_validate({"profile": "full", "preemption": {"choose": "one"}})
    two = node_with("n"), placed("a", 5), node_with("m"), placed("b", 4, node="m")
    request = victims_by_uid({"n": ["uid-a"], "m": ["uid-b"]}, pod=urgent())
    assert preempt(request, *two, configuration=one).detail.endswith("; 1 left out: another node is better")


def test_fact_29_without_cache_does_not_evict_a_pod_of_equal_priority() -> None:
    cache = FixedNodeCache(FULL, CacheUnavailable("too old", WhenStale.PASS))
    request = victims_in_full({"n": [placed("a", 100)], "m": [placed("b", 1), placed("c", 2)]}, pod=urgent())
    reply = answer_preempt(body_of(request), cache)
    assert (victims(reply), reply.outcome) == ({"m": ["uid-c", "uid-b"]}, PreemptOutcome.PASSED)


def test_fact_30_does_not_add_unneeded_victims() -> None:
    cluster = node_with("n"), placed("a"), placed("b", 1, "2"), placed("c", 9)
    assert victims(preempt(victims_by_uid({"n": ["uid-a"]}, pod=urgent("3")), *cluster)) == {"n": ["uid-b", "uid-a"]}


def test_fact_31_recounts_violations_after_adding_victims() -> None:
    cluster = node_with("n"), placed("a"), placed("b"), BUDGET
    reply = preempt(victims_by_uid({"n": ["uid-a"]}, pod=urgent()), *cluster)
    assert orjson.loads(reply.body)["NodeNameToMetaVictims"]["n"]["NumPDBViolations"] == 1


def test_fact_32_choose_one_returns_only_the_best_node() -> None:
    one = BerthConfiguration.model_validate({"profile": "full", "preemption": {"choose": "one"}})
    cluster = node_with("n"), placed("a", 5), node_with("m"), placed("b", 4, node="m")
    request = victims_by_uid({"n": ["uid-a"], "m": ["uid-b"]}, pod=urgent())
    assert victims(preempt(request, *cluster, configuration=one)) == {"m": ["uid-b"]}
    assert victims(preempt(request, *cluster)) == {"n": ["uid-a"], "m": ["uid-b"]}


def test_fact_33_does_not_evict_for_preemption_policy_never() -> None:
    never = urgent(preemptionPolicy="Never")
    assert victims(preempt(victims_by_uid({"n": ["uid-a"]}, pod=never), node_with("n"), placed("a"))) == {}


def test_fact_34_keeps_room_for_the_nominated_pod() -> None:
    waiting = pod_with("waiting", priority=100, requests={"cpu": "2"}, status={"nominatedNodeName": "n"})
    cluster = node_with("n"), placed("a", cpu="2"), placed("b", cpu="2")
    request = victims_by_uid({"n": ["uid-a"]}, pod=urgent("2"))
    assert victims(preempt(request, *cluster)) == {"n": ["uid-a"]}
    assert victims(preempt(request, *cluster, waiting)) == {"n": ["uid-a", "uid-b"]}


NOMINATED: Object = {"status": {"nominatedNodeName": "n"}}
WAITING = node_with("n"), leaving("a", "4"), node_with("m"), placed("b", cpu="4", node="m")


@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone])
@pytest.mark.parametrize(
    "names", [pytest.param(["n"], id="requested alone"), pytest.param(["n", "m"], id="among others")]
)
def test_fact_15a_nominated_node_with_terminating_victims_is_resolvable(answer: Any, names: Sequence[str]) -> None:
    reply = answer(body_of(cache_mode(names, urgent(**NOMINATED))), FixedNodeCache.of(FULL, *WAITING))
    found = orjson.loads(reply.body)
    others = {name: "Insufficient cpu" for name in names if name != "n"}
    assert (found["FailedNodes"], found["FailedAndUnresolvableNodes"]) == ({"n": "Insufficient cpu"}, others)
    assert (found["NodeNames"], found["Error"]) == ([], "")


def test_fact_15a_does_not_evict_more_pods_while_cache_shows_terminating_victims() -> None:
    """The victims end before the cache shows it: the scheduler finds its nominated node rejected and tries another."""
    pod = urgent(**NOMINATED)
    request = victims_by_uid({"m": ["uid-b"]}, pod=pod)
    reply = preempt(request, *WAITING, pod)
    assert victims(reply) == {}
    assert "room for the pod is coming on its nominated node" in reply.detail
    # If no victim terminates on the nominated node, or the pod fits beside the victims, the response is as usual.
    others = node_with("m"), placed("b", cpu="4", node="m")
    assert victims(preempt(request, node_with("n"), placed("a", cpu="4"), *others, pod)) == {"m": ["uid-b"]}
    assert victims(preempt(request, node_with("n"), placed("x", 100, "4"), *others)) == {"m": ["uid-b"]}
    assert victims(preempt(request, node_with("n", allocatable={"cpu": "8"}), leaving("a", "4"), *others)) == {
        "m": ["uid-b"]
    }


def test_fact_15a_does_not_evict_if_the_cache_lacks_the_nomination() -> None:
    request = victims_by_uid({"m": ["uid-b"]}, pod=urgent(**NOMINATED))
    cluster = node_with("n"), placed("a", cpu="4"), node_with("m"), placed("b", cpu="4", node="m")
    assert victims(preempt(request, *cluster)) == victims(preempt(request, *cluster, urgent())) == {}


@pytest.mark.parametrize(
    "cached",
    [pytest.param([], id="the cache lacks the nomination"), pytest.param([urgent(**NOMINATED)], id="the cache has it")],
)
@pytest.mark.parametrize(
    "names", [pytest.param(["n"], id="requested alone"), pytest.param(["n", "m"], id="among others")]
)
def test_nomination_is_kept_while_the_cache_shows_the_victims(names: Sequence[str], cached: Sequence[Object]) -> None:
    """The scheduler asks about the node, so it has seen the victims end. An unresolvable node ends the nomination."""
    cluster = node_with("n"), placed("a", cpu="4"), node_with("m"), placed("b", cpu="4", node="m")
    reply = answer_filter(body_of(cache_mode(names, urgent(**NOMINATED))), FixedNodeCache.of(FULL, *cluster, *cached))
    assert orjson.loads(reply.body)["FailedNodes"] == {"n": "Insufficient cpu"}


EVICTED = node_with("n"), placed("a", cpu="4"), node_with("m"), placed("b", cpu="4", node="m"), urgent(**NOMINATED)
"""The cache shortly after the pod was nominated: the victim is gone, but the cache still contains it."""


@pytest.mark.parametrize(
    ("request_body", "wanted"),
    [
        pytest.param(victims_by_uid({"m": ["uid-b"]}, pod=urgent(**NOMINATED)), {}, id="waits and evicts nowhere"),
        pytest.param(
            victims_by_uid({"n": ["uid-c"]}, pod=urgent(**NOMINATED)),
            {"n": ["uid-c"]},
            id="does not return a victim again if the scheduler needs others",
        ),
        pytest.param(victims_by_uid({"m": ["uid-b"]}, pod=urgent()), {"m": ["uid-b"]}, id="was not nominated"),
    ],
)
def test_victims_returned_by_preempt_do_not_count(request_body: Request, wanted: Mapping[str, list[str]]) -> None:
    cache, answered = FixedNodeCache.of(FULL, *EVICTED), AnsweredVictims()
    first = answer_preempt(body_of(victims_by_uid({"n": ["uid-a"]}, pod=urgent())), cache, answered=answered)
    assert victims(first) == {"n": ["uid-a"]}
    assert victims(answer_preempt(body_of(request_body), cache, answered=answered)) == wanted


def test_pod_may_evict_elsewhere_if_another_pod_took_the_place_of_its_victims() -> None:
    cluster = node_with("n"), placed("x", 100, cpu="4"), node_with("m"), placed("b", cpu="4", node="m")
    answered = AnsweredVictims()
    answer_preempt(
        body_of(victims_by_uid({"n": ["uid-a"]}, pod=urgent())), FixedNodeCache.of(FULL, *EVICTED), answered=answered
    )
    request = body_of(victims_by_uid({"m": ["uid-b"]}, pod=urgent(**NOMINATED)))
    reply = answer_preempt(request, FixedNodeCache.of(FULL, *cluster, urgent(**NOMINATED)), answered=answered)
    assert victims(reply) == {"m": ["uid-b"]}


def test_fact_15_as_plugins_say_returns_the_codes_of_the_plugins() -> None:
    configuration = BerthConfiguration.model_validate({"profile": "full", "unresolvable": "as-plugins-say"})
    cluster = node_with("full"), placed("a", node="full"), node_with("small", allocatable={"cpu": "1"})
    reply = answer_filter(
        body_of(cache_mode(["full", "small", "new"], urgent())), FixedNodeCache.of(configuration, *cluster)
    )
    found = orjson.loads(reply.body)
    assert found["FailedNodes"] == {"full": "Insufficient cpu"}
    assert list(found["FailedAndUnresolvableNodes"]) == ["small", "new"]


def through_the_cache(*objects: Object) -> Verbs:
    """Return verbs that read the objects from the cache, projected as the watcher publishes them."""
    verbs = Verbs(configuration=FULL)
    for resource, trim in projections(RequiredFields.of(FULL.policy())).items():
        verbs.cluster.publish(resource.name, [trim(each) for each in objects if each["kind"] == KINDS.get(resource)])
    return verbs


KINDS = {NODES: "Node", PODS: "Pod", POD_DISRUPTION_BUDGETS: "PodDisruptionBudget"}


def test_selects_same_victims_from_projected_objects() -> None:
    waiting = pod_with("waiting", priority=100, requests={"cpu": "1"}, status={"nominatedNodeName": "n"})
    cluster = node_with("n"), placed("a", 1), placed("b", 2), placed("c", 3), placed("d", 100), BUDGET, waiting
    answer = through_the_cache(*cluster).ask("preempt", victims_by_uid({"n": ["uid-a"]}, pod=urgent("2")))
    # d, the waiting pod and the urgent pod need all 4 CPUs, so a, b and c are evicted.
    assert answer.json["NodeNameToMetaVictims"] == {
        "n": {"Pods": [{"UID": "uid-c"}, {"UID": "uid-b"}, {"UID": "uid-a"}], "NumPDBViolations": 2}
    }


def test_finds_preempted_pods_in_projected_objects() -> None:
    answer = through_the_cache(*WAITING).ask("filter", cache_mode(["n", "m"], urgent(**NOMINATED))).json
    assert (list(answer["FailedNodes"]), list(answer["FailedAndUnresolvableNodes"])) == (["n"], ["m"])
