"""Facts 7, 15, 15a, 17, 38 and 40 of docs/reference/extender-contract.md, for resources that the scheduler ignores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES, PODS
from berth.ledger.nodes.entry import OpenReservation
from berth.scheduling.objects.pod import PodKey
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.counted import (
    LICENCE,
    MEMORY,
    PERCENTAGE,
    SIZES,
    asking_object,
    configuration,
    counted_node_object,
    on_device,
)
from tests.builders.pods import tried
from tests.builders.requests import cache_mode, full_mode, victims_by_uid
from tests.fakes.verbs import Verbs

NO_LICENCE = f"Insufficient {LICENCE}"
NO_MEMORY = f"Insufficient {MEMORY}"
NODE_NAMES = ["a", "b", "c"]

Object = dict[str, object]


def verbs(pods: Iterable[Object] = (), ledger: InMemoryLedgerTable | None = None) -> Verbs:
    """Return verbs on three nodes: a with two licenses and two devices, b with one license, c with neither."""
    found = Verbs(configuration=configuration(), ledger=ledger)
    kept = projections(RequiredFields.of(configuration().policy()))
    nodes = [counted_node_object("a", "2", "8000,4000"), counted_node_object("b", "1"), counted_node_object("c")]
    found.cluster.publish("nodes", map(kept[NODES], nodes))
    found.cluster.publish("pods", map(kept[PODS], pods))
    return found


def rejected(found: Verbs, pod: Object, verb: str = "filter") -> dict[str, str]:
    answer = found.ask(verb, cache_mode(NODE_NAMES, pod)).json
    assert answer["Error"] == ""
    assert answer["FailedNodes"] == {}
    assert set(answer["NodeNames"]) == set(NODE_NAMES) - answer["FailedAndUnresolvableNodes"].keys()
    reasons: dict[str, str] = answer["FailedAndUnresolvableNodes"]
    return reasons


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(asking_object(licence="0"), id="key with amount 0"),
        pytest.param(asking_object(cpu="1"), id="resource of another extender or no resource"),
    ],
)
def test_fact_7_pod_that_requests_only_other_resources_passes_every_node(pod: Object) -> None:
    assert rejected(verbs([asking_object("full", "a", licence="2")]), pod) == {}


def test_fact_7_limit_counts_as_request() -> None:
    pod = asking_object()
    pod["spec"] = {"containers": [{"resources": {"limits": {LICENCE: "2"}}}]}
    assert rejected(verbs(), pod) == {"b": NO_LICENCE, "c": NO_LICENCE}


def test_fact_15_every_rejected_node_is_unresolvable_by_default() -> None:
    """a is full and c lacks the resource: the plugin's codes differ, the response's codes do not (see `rejected`)."""
    assert rejected(verbs([asking_object("x", "a", licence="2")]), asking_object(licence="2")) == {
        "a": NO_LICENCE,
        "b": NO_LICENCE,
        "c": NO_LICENCE,
    }


def test_fact_15_preempt_rejects_only_nodes_with_too_little_capacity() -> None:
    """If the scheduler also counts the resource, it proposes victims. Only node a has the capacity for two licenses."""
    found = verbs([asking_object("x", "a", licence="2", priority=1)])
    urgent = asking_object("urgent", licence="2", priority=1000)
    answer = found.ask("preempt", victims_by_uid({"a": ["uid-x"], "b": ["uid-y"], "c": ["uid-z"]}, pod=urgent))
    assert list(answer.json["NodeNameToMetaVictims"]) == ["a"]


def leaving(name: str, node: str, *, preempted: bool) -> Object:
    found = asking_object(name, node, licence="2", priority=1)
    found["metadata"] = {**found["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}  # type: ignore[dict-item]
    if preempted:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        found["status"] = {**found["status"], "conditions": [condition]}  # type: ignore[dict-item]
    return found


def test_fact_15a_preempted_pod_still_counts_and_the_nominated_node_is_resolvable() -> None:
    urgent = asking_object("urgent", licence="2", priority=1000, nominated="a")
    found = verbs([leaving("victim", "a", preempted=True), urgent])
    answer = found.ask("filter", cache_mode(NODE_NAMES, urgent)).json
    assert answer["FailedNodes"] == {"a": NO_LICENCE}
    assert answer["FailedAndUnresolvableNodes"] == {"b": NO_LICENCE, "c": NO_LICENCE}
    # Meanwhile no other pod is evicted.
    assert found.ask("preempt", victims_by_uid({"b": ["uid-other"]}, pod=urgent)).json["NodeNameToMetaVictims"] == {}


def test_fact_15a_pod_that_ends_without_preemption_frees_its_amount() -> None:
    urgent = tried(asking_object("urgent", licence="2", priority=1000))
    found = verbs([leaving("victim", "a", preempted=False)])
    assert rejected(found, urgent) == dict.fromkeys(NODE_NAMES, NO_LICENCE)
    answer = found.ask("preempt", victims_by_uid({"a": ["uid-victim"]}, pod=urgent)).json
    assert list(answer["NodeNameToMetaVictims"]) == ["a"]
    assert rejected(verbs(), urgent) == {"b": NO_LICENCE, "c": NO_LICENCE}


def test_preempt_adds_victim_to_free_a_counted_resource() -> None:
    """The scheduler proposes victims for its own plugins and does not know about licenses."""
    pods = [asking_object(name, "a", licence="1", priority=priority) for name, priority in (("small", 1), ("mid", 5))]
    urgent = asking_object("urgent", licence="2", priority=1000)
    answer = verbs(pods).ask("preempt", victims_by_uid({"a": ["uid-small"]}, pod=urgent)).json
    assert answer["NodeNameToMetaVictims"] == {
        "a": {"Pods": [{"UID": "uid-mid"}, {"UID": "uid-small"}], "NumPDBViolations": 0}
    }


def test_fact_17_same_shortage_gives_same_bytes() -> None:
    pod = asking_object("asks", licence="1", gpumem="5000")
    for held in (
        [asking_object("x", "a", {**on_device(0)}, licence="1", gpumem="4000")],
        [asking_object("x", "a", on_device(0), gpumem="8000"), asking_object("y", "a", licence="1")],
        [asking_object("x", "a", gpumem="6000")],
    ):
        assert rejected(verbs(held), pod)["a"] == NO_MEMORY


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(asking_object(licence="3", gpumem="9000"), id="two resources"),
        pytest.param(asking_object("other-name", licence="123456"), id="a large number"),
        pytest.param(asking_object(percentage="150"), id="invalid amount"),
    ],
)
def test_fact_17_reasons_do_not_contain_numbers_or_names(pod: Object) -> None:
    for reason in rejected(verbs(), pod).values():
        for part in reason.split(", "):
            assert part in {NO_LICENCE, NO_MEMORY, f"the pod's request of {PERCENTAGE} is more than 100 per cent"}


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone"])
def test_fact_38_extender_prevents_overcommitment_without_the_scheduler(verb: str) -> None:
    held = [asking_object("x", "a", licence="1"), asking_object("y", "b", licence="1")]
    assert rejected_by(verbs(held), verb, asking_object(licence="1")) == (["a"], {"b": NO_LICENCE, "c": NO_LICENCE})


def rejected_by(found: Verbs, verb: str, pod: Object) -> tuple[list[str], Mapping[str, str]]:
    answer = found.ask(verb, cache_mode(NODE_NAMES, pod)).json
    return answer["NodeNames"], answer["FailedAndUnresolvableNodes"]


def test_fact_13_full_mode_reads_capacity_from_request_and_usage_from_cache() -> None:
    found = verbs([asking_object("x", "a", on_device(0), gpumem="8000")])
    node = counted_node_object("a", "2", "8000,5000")
    answer = found.ask("filter", full_mode([node], asking_object(gpumem="5000"))).json
    assert [item["metadata"]["annotations"][SIZES] for item in answer["Nodes"]["items"]] == ["8000,5000"]
    answer = found.ask("filter", full_mode([node], asking_object(gpumem="6000"))).json
    assert answer["FailedAndUnresolvableNodes"] == {"a": NO_MEMORY}


def reserved(name: str, node: str = "a", **shares: int) -> OpenReservation:
    return OpenReservation(PodKey("ml", name, f"uid-{name}"), node, "attempt", {LICENCE: 1, **shares}, 0.0)


def test_fact_40_counts_pods_while_they_are_being_bound() -> None:
    ledger = InMemoryLedgerTable()
    found, pod = verbs(ledger=ledger), asking_object("asks", licence="2")
    assert rejected(found, pod) == {"b": NO_LICENCE, "c": NO_LICENCE}
    ledger.put_open(reserved("x"))
    assert rejected(found, pod) == {"a": NO_LICENCE, "b": NO_LICENCE, "c": NO_LICENCE}
    # The pod's own reservation, from a bind whose response was lost, does not block it.
    assert rejected(found, asking_object("x", licence="2")) == {"b": NO_LICENCE, "c": NO_LICENCE}


def test_fact_40_filter_and_prioritize_do_not_change_reservations() -> None:
    ledger = InMemoryLedgerTable()
    found = verbs(ledger=ledger)
    ledger.put_open(reserved("x"))
    for _ in range(2):
        for verb in ("filter", "filter_onlyone", "prioritize"):
            found.ask(verb, cache_mode(NODE_NAMES, asking_object("asks", licence="1")))
    assert list(ledger.open_reservations()) == [reserved("x")]


def test_fact_40_scores_count_pods_while_they_are_being_bound() -> None:
    ledger = InMemoryLedgerTable()
    found = verbs(ledger=ledger)
    ledger.put_open(reserved("x"))
    answer = found.ask("prioritize", cache_mode(["a", "b"], asking_object("asks", licence="1"))).json
    # binpack: with the pod, either node would be full.
    assert len({entry["Score"] for entry in answer}) == 1
