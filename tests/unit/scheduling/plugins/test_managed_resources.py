"""ManagedResources: a node must have enough left of the counted resources that the pod requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from berth.scheduling.framework.plugin import SUCCESS, Code
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.plugins.managed_resources import ManagedResources, ManagedResourcesArgs
from berth.scheduling.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from tests.builders.counted import LICENCE, SLICES, asking, asking_object, counted_node_object, counting
from tests.unit.scheduling.plugins.asking import Object, scores, verdict, verdicts

UNSCHEDULABLE, NEVER = Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE
SUFFICIENT = (Code.SUCCESS, ())
NO_LICENCE = "Insufficient example.com/licence"
NO_MEMORY = "Insufficient nvidia.com/gpumem"


def plugin(counted: Counting | None = None, scoring: str = "binpack") -> ManagedResources:
    args = ManagedResourcesArgs.model_validate({"scoring": scoring})
    return ManagedResources(args).with_counting(counted or counting())


NODE = counted_node_object("n", "4", "8000,16000")


@pytest.mark.parametrize(
    ("pod", "others", "expected"),
    [
        pytest.param(asking_object(licence="4"), (), SUFFICIENT, id="the whole capacity"),
        pytest.param(
            asking_object(licence="2"),
            (asking_object("a", "n", licence="3"),),
            (UNSCHEDULABLE, (NO_LICENCE,)),
            id="less is available: evictions might help",
        ),
        pytest.param(asking_object(licence="5"), (), (NEVER, (NO_LICENCE,)), id="above the capacity: unresolvable"),
        pytest.param(
            asking_object(licence="1", gpumem="1"),
            (
                asking_object("a", "n", licence="4"),
                asking_object("b", "n", percentage="100"),
                asking_object("c", "n", percentage="100"),
            ),
            (UNSCHEDULABLE, (NO_LICENCE, NO_MEMORY)),
            id="every shortage is named",
        ),
        pytest.param(
            asking_object(licence="1", gpumem="17000"),
            (asking_object("a", "n", licence="4"),),
            (NEVER, (NO_LICENCE, NO_MEMORY)),
            id="unresolvable if one shortage is",
        ),
        pytest.param(
            asking_object(licence="1"),
            (asking_object("a", "n", licence="3"), asking_object("b", "n", licence="3")),
            (UNSCHEDULABLE, (NO_LICENCE,)),
            id="usage above capacity: another component bound pods there",
        ),
        pytest.param(
            asking_object(licence="9" * 18),
            (),
            (NEVER, ("the pod's request of example.com/licence is not an amount of at most 10^15",)),
            id="an invalid amount",
        ),
    ],
)
def test_node_passes_only_with_enough_free_units(
    pod: Object, others: Sequence[Object], expected: tuple[Code, tuple[str, ...]]
) -> None:
    found = verdict(plugin(), pod, NODE, *others)
    assert (found.code, found.reasons) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(counted_node_object("n"), (NEVER, (NO_LICENCE,)), id="a node without capacity has 0"),
        pytest.param(counted_node_object("n", "0"), (NEVER, (NO_LICENCE,)), id="an amount of 0"),
        pytest.param(
            counted_node_object("n", "-4"),
            (NEVER, ("node(s) had an amount of example.com/licence that cannot be read",)),
            id="an invalid amount",
        ),
        pytest.param(counted_node_object("n", "4", "x"), SUFFICIENT, id="an invalid amount of another resource"),
    ],
)
def test_reads_the_capacity_from_the_node(node: Object, expected: tuple[Code, tuple[str, ...]]) -> None:
    found = verdict(plugin(), asking_object(licence="1"), node)
    assert (found.code, found.reasons) == expected


def test_equal_shortages_share_one_status() -> None:
    nodes = [counted_node_object(f"n{number}", str(number)) for number in range(1, 4)]
    found = verdicts(plugin(), asking_object(licence="4"), *nodes)
    assert len({id(status) for status in found.values()}) == 1


def test_skips_pod_without_counted_request() -> None:
    for found in (plugin(), plugin(Counting())):
        assert found.pre_filter(asking()) is None
        assert found.pre_score(asking()) is None
    # Without a configuration nothing is counted, whatever the pod asks for.
    assert plugin(Counting()).pre_filter(asking(licence="1")) is None


def test_pods_with_the_same_request_share_verdicts() -> None:
    found = plugin()
    assert found.shape(asking("a", licence="1")) == found.shape(asking("b", licence="1", cpu="4"))
    assert found.shape(asking("a", licence="1")) != found.shape(asking("b", licence="2"))
    assert found.shape(asking("a", percentage="1")) != found.shape(asking("b", gpumem="1"))


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        pytest.param("binpack", {"empty": 25, "half": 75, "large": 2}, id="binpack: less remaining is better"),
        pytest.param("spread", {"empty": 75, "half": 25, "large": 97}, id="spread: more remaining is better"),
    ],
)
def test_scoring_strategy_ranks_nodes_by_free_amount(scoring: str, expected: Mapping[str, int]) -> None:
    nodes = [counted_node_object(name, count) for name, count in (("empty", "4"), ("half", "4"), ("large", "40"))]
    others = [asking_object("a", "half", licence="2")]
    assert scores(plugin(scoring=scoring), asking_object(licence="1"), *nodes, *others) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(asking_object(gpumem="3000"), {"one": 37, "two": 18}, id="all devices of the node count"),
        pytest.param(asking_object(percentage="50"), {"one": 50, "two": 25}, id="per cent of a device"),
        pytest.param(asking_object(gpumem="4000", licence="1"), {"one": 75, "two": 62}, id="resources count alike"),
        pytest.param(asking_object(), {"one": 0, "two": 0}, id="no demand"),
    ],
)
def test_free_amount_of_all_devices_determines_the_score(pod: Object, expected: Mapping[str, int]) -> None:
    nodes = [counted_node_object("one", "1", "8000"), counted_node_object("two", "1", "8000,8000")]
    assert scores(plugin(), pod, *nodes) == expected


def test_fact_38_scheduler_resource_filter_skips_an_ignored_resource() -> None:
    """A resource counted by a node's label is not in its allocatable: NodeResourcesFit would always reject the node."""
    fit = NodeResourcesFit(NodeResourcesFitArgs())
    pod = asking_object(licence="1", cpu="1")
    assert verdict(fit, pod, NODE).reasons == (NO_LICENCE,)
    assert verdict(fit.with_counting(counting()), pod, NODE) is SUCCESS
    # The original plugin has not changed.
    assert verdict(fit, pod, NODE).reasons == (NO_LICENCE,)


def test_node_resources_fit_also_filters_a_resource_that_the_scheduler_does_not_ignore() -> None:
    seen = counting({"name": LICENCE, "ignoredByScheduler": False})
    fit = NodeResourcesFit(NodeResourcesFitArgs()).with_counting(seen)
    assert verdict(fit, asking_object(licence="1"), counted_node_object()).reasons == (NO_LICENCE,)


def test_reasons_name_the_configured_resources() -> None:
    assert plugin(counting(SLICES)).reasons >= {NO_MEMORY}
    assert NO_LICENCE not in plugin(counting(SLICES)).reasons


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(asking_object(), id="no request"),
        pytest.param(asking_object(percentage="101"), id="an unreadable request"),
    ],
)
def test_does_not_score_a_pod_without_a_readable_request(pod: Object) -> None:
    read = read_pod(pod)
    assert isinstance(read, Pod)
    assert plugin().pre_score(read) is None
