"""ResourceSegregation: keeps pods that request scarce resources apart from pods that do not.

Most cases use a cluster of 9 nodes without a GPU and 6 nodes with a GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.plugins.resource_segregation import ResourceSegregation, ResourceSegregationArgs
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node_object
from tests.builders.pods import pod_object

GPU = "nvidia.com/gpu"
FPGA = "example.com/fpga"

RESERVED = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    ("node(s) were reserved for pods that ask for their resources",),
    "ResourceSegregation",
)
MISSING = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    ("node(s) didn't have the resources that the pod asks for",),
    "ResourceSegregation",
)

WITHOUT = [f"cpu-{index}" for index in range(1, 10)]
WITH = [f"gpu-{index}" for index in range(1, 7)]
ALL = [*WITHOUT, *WITH]


def node(name: str, allocatable: Mapping[str, str] | None = None) -> NodeInfo:
    obj = node_object(name)
    obj["status"] = {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", **(allocatable or {})}}
    read = read_node(obj)
    assert isinstance(read, NodeInfo)
    return read


def pod(requests: Mapping[str, str] | None = None, **rest: object) -> Pod:
    read = read_pod(pod_object(requests={"cpu": "1", **(requests or {})}, **rest))  # type: ignore[arg-type]
    assert isinstance(read, Pod)
    return read


CLUSTER = Snapshot.of([*map(node, WITHOUT), *(node(name, {GPU: "4"}) for name in WITH)])


def policy(**args: object) -> Policy:
    configs = [{"name": "ResourceSegregation", "args": args}]
    return BerthConfiguration.model_validate({"profile": "resource-segregation", "pluginConfig": configs}).policy()


def verdict(args: Mapping[str, object], asking: Pod, candidate: NodeInfo) -> Status:
    plugin = ResourceSegregation(ResourceSegregationArgs.model_validate(args))
    prepared = plugin.pre_filter(asking)
    return SUCCESS if prepared is None else plugin.filter(prepared.state, candidate)


def test_pod_without_gpu_request_uses_gpu_nodes_last_if_preferred() -> None:
    decides = policy(mode="preferred")
    assert decides.feasibility(pod(), ALL, CLUSTER).feasible == ALL
    assert decides.scores(pod(), ALL, CLUSTER) == [10] * 9 + [0] * 6
    assert decides.best(pod(), ["gpu-1", "cpu-9", "gpu-2"], CLUSTER).feasible == ["cpu-9"]


@pytest.mark.parametrize(
    ("mode", "requests", "wanted"),
    [
        pytest.param("preferred", {}, [100, 0], id="nodes without and with a GPU get both ends of the range"),
        pytest.param("preferred", {GPU: "1"}, None, id="equal scores for a pod with a request"),
        pytest.param("required", {}, None, id="equal scores if only GPU nodes are left"),
    ],
)
def test_mode_decides_how_nodes_are_scored(mode: str, requests: Mapping[str, str], wanted: list[int] | None) -> None:
    plugin = ResourceSegregation(ResourceSegregationArgs.model_validate({"mode": mode}))
    prepared = plugin.pre_score(pod(requests))
    candidates = (node("n"), node("n", {GPU: "1"}))
    assert (prepared and [plugin.score(prepared.state, candidate) for candidate in candidates]) == wanted


BOTH = {"resources": [GPU, FPGA]}


@pytest.mark.parametrize(
    ("args", "requests", "allocatable", "wanted"),
    [
        pytest.param(BOTH, {}, {FPGA: "1"}, RESERVED, id="a node with any resource of the set is reserved"),
        pytest.param(BOTH, {GPU: "1"}, {FPGA: "1"}, MISSING, id="a node with another resource of the set is rejected"),
        pytest.param({"resources": [FPGA]}, {}, {GPU: "1"}, SUCCESS, id="resources of node outside set are ignored"),
        pytest.param({}, {GPU: "0"}, {GPU: "1"}, RESERVED, id="a request of 0 is no request"),
        pytest.param({}, {GPU: "8"}, {GPU: "1"}, SUCCESS, id="amounts are left to the scheduler"),
        pytest.param({"resources": ["hugepages-2Mi"]}, {}, {"hugepages-2Mi": "1Gi"}, RESERVED, id="huge pages"),
        pytest.param({"mode": "preferred"}, {GPU: "1"}, {}, MISSING, id="preferred rejects nodes without the resource"),
    ],
)
def test_arguments_decide_which_nodes_pass(
    args: Mapping[str, object], requests: Mapping[str, str], allocatable: Mapping[str, str], wanted: Status
) -> None:
    assert verdict(args, pod(requests), node("n", allocatable)) == wanted


def test_gpu_in_use_still_makes_the_node_a_gpu_node() -> None:
    """The scheduler checks the remaining amount, with a more recent view."""
    taken = pod({GPU: "1"}, name="first", node_name="n")
    assert verdict({}, pod({GPU: "1"}), node("n", {GPU: "1"}).with_pods([taken])) is SUCCESS
    assert verdict({}, pod(), node("n", {GPU: "1"}).with_pods([taken])) == RESERVED


def test_pods_requesting_the_same_set_share_verdicts() -> None:
    plugin = ResourceSegregation(ResourceSegregationArgs())
    assert plugin.shape(pod({GPU: "1"}, name="a")) == plugin.shape(pod({GPU: "7", FPGA: "1"}, name="b", namespace="x"))
    assert plugin.shape(pod()) == plugin.shape(pod({FPGA: "1"}))
    assert plugin.shape(pod()) != plugin.shape(pod({GPU: "1"}))


@given(
    resources=st.sets(st.sampled_from([GPU, FPGA, "example.com/nic"]), min_size=1),
    asked=st.dictionaries(st.sampled_from([GPU, FPGA, "example.com/nic"]), st.sampled_from(["0", "1", "2"])),
    there=st.dictionaries(st.sampled_from([GPU, FPGA, "example.com/nic"]), st.sampled_from(["0", "1", "2"])),
    mode=st.sampled_from(["required", "preferred"]),
)
def test_passes_only_nodes_that_have_all_requested_resources(
    resources: set[str], asked: Mapping[str, str], there: Mapping[str, str], mode: str
) -> None:
    def counting(amounts: Mapping[str, str]) -> Iterable[str]:
        return (name for name, amount in amounts.items() if amount != "0")

    wants, has = resources & set(counting(asked)), resources & set(counting(there))
    fits = wants <= has if wants else mode == "preferred" or not has
    args = {"resources": sorted(resources), "mode": mode}
    assert (verdict(args, pod(asked), node("n", there)) is SUCCESS) is fits


@pytest.mark.parametrize(
    ("args", "field", "message"),
    [
        pytest.param({"resources": []}, ("resources",), "at least 1 item", id="no resource at all"),
        pytest.param(
            {"resources": ["cpu"]},
            ("resources", 0),
            "Input should be the name of an extended resource, such as 'nvidia.com/gpu'",
            id="cpu",
        ),
        pytest.param({"resources": ["gpu"]}, ("resources", 0), "extended resource", id="a name without a domain"),
        pytest.param({"mode": "always"}, ("mode",), "'required' or 'preferred'", id="an unknown mode"),
        pytest.param({"resource": [GPU]}, ("resource",), "not permitted", id="a misspelt argument"),
    ],
)
def test_error_names_invalid_argument(args: object, field: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ResourceSegregationArgs.model_validate(args)
    [detail] = caught.value.errors()
    assert detail["loc"] == field
    assert message in detail["msg"]


def test_requires_segregation_of_nvidia_gpus_by_default() -> None:
    assert ResourceSegregationArgs() == ResourceSegregationArgs.model_validate({"resources": [GPU], "mode": "required"})
