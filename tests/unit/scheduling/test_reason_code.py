"""Reason codes are an interface: programs store them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest

from berth.scheduling import plugins
from berth.scheduling.evaluation.verdicts import NOT_IN_CACHE
from berth.scheduling.feasibility import TOO_COSTLY
from berth.scheduling.framework.plugin import Status
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.plugins.managed_resources import ManagedResources, ManagedResourcesArgs
from berth.scheduling.plugins.node_priority_label import NodePriorityLabel, NodePriorityLabelArgs
from berth.scheduling.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.reason_code import REASON_CODES_VERSION, ReasonCode
from tests.builders.nodes import node, node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import verdict

VERSION_1 = """
PluginReason NodeUnschedulable NodeNameMismatch UntoleratedTaint NodeAffinityMismatch AddedNodeAffinityMismatch
NodeAffinityConflict NodeAffinityInvalid HostPortTaken TooManyPods InsufficientResource TopologySpreadSkew
TopologySpreadLabelMissing TopologySpreadInvalid PodAffinityMismatch PodAntiAffinityConflict
ExistingPodAntiAffinityConflict PodAffinityInvalid NodeNotSelected PriorityLabelMissing PriorityLabelNotInteger
NodeReserved SegregatedResourceMissing InsufficientCountedResource NodeCapacityUnreadable RequestUnreadable
RequestAboveDevice RequestAbovePodLimit NodeNotReady NodeNotRunning NodeNotInCache NodeUnreadable TooCostly
PreemptionPolicyNever NominatedNodePending VictimNotLower PreemptionNotHelpful NoRoomByPreemption NoVictimNeeded
NotBestCandidate GangWaitsForMembers GangDoesNotFit GangPlacedElsewhere GangInvalid GangInOtherDomain PartOfGang
VictimUnreadable InsufficientFloatingResource KeptForHigherPriority RequestAbovePool NodeWithoutDomain GangWaitsForPool
"""
"""A code is added here with the release that adds it, and never removed."""


def test_reason_codes_of_version_1_are_complete_and_unchanged() -> None:
    assert REASON_CODES_VERSION == 1
    assert set(ReasonCode) == set(VERSION_1.split())


def test_each_code_is_one_word_in_camel_case() -> None:
    assert [code for code in ReasonCode if not re.fullmatch(r"[A-Z][A-Za-z]+", code)] == []


def constant_statuses() -> Iterator[tuple[str, Status]]:
    """Yield the statuses that the modules of the plugins keep as constants."""
    for found in walk_packages(plugins.__path__, f"{plugins.__name__}."):
        for constant, value in vars(import_module(found.name)).items():
            if isinstance(value, Status) and value.reasons:
                yield f"{found.name.removeprefix('berth.scheduling.plugins.')}.{constant}", value


@pytest.mark.parametrize("status", [pytest.param(status, id=name) for name, status in constant_statuses()])
def test_constant_status_of_a_plugin_has_a_specific_reason_code(status: Status) -> None:
    assert status.plugin in SHIPPED_PLUGINS
    assert ReasonCode.PLUGIN_REASON not in status.reason_codes


def test_different_constant_reasons_have_different_codes() -> None:
    found = {status.reasons: status.reason_codes for _, status in constant_statuses()}
    assert len(set(found.values())) == len(found) > 10


FIT = NodeResourcesFit(NodeResourcesFitArgs())
LABEL = NodePriorityLabel(NodePriorityLabelArgs())
LICENCE = ManagedResource.model_validate({"name": "example.com/licence", "capacity": {"nodeAnnotation": "licences"}})
LIMITED = ManagedResource.model_validate(
    {"name": "example.com/licence", "capacity": {"nodeAnnotation": "licences"}, "podLimit": 2}
)


ONE, THREE = pod_with(requests={"example.com/licence": "1"}), pod_with(requests={"example.com/licence": "3"})


def counting(*resources: ManagedResource) -> ManagedResources:
    return ManagedResources(ManagedResourcesArgs()).with_counting(Counting(resources))


def licences(amount: str) -> dict[str, object]:
    return {"kind": "Node", "metadata": {"name": "n", "annotations": {"licences": amount}}}


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        pytest.param(
            verdict(FIT, pod_with(requests={"cpu": "9", "memory": "9Gi"}), node_with(allocatable={"pods": "0"})),
            (ReasonCode.TOO_MANY_PODS, ReasonCode.INSUFFICIENT_RESOURCE, ReasonCode.INSUFFICIENT_RESOURCE),
            id="a code for each reason of NodeResourcesFit",
        ),
        pytest.param(verdict(LABEL, pod_with(), node_with()), (ReasonCode.PRIORITY_LABEL_MISSING,), id="no priority"),
        pytest.param(
            verdict(counting(LICENCE), ONE, licences("0")),
            (ReasonCode.INSUFFICIENT_COUNTED_RESOURCE,),
            id="a counted resource is short",
        ),
        pytest.param(
            verdict(counting(LICENCE), ONE, licences("some")),
            (ReasonCode.NODE_CAPACITY_UNREADABLE,),
            id="a capacity is not an amount",
        ),
        pytest.param(
            verdict(counting(LIMITED), THREE, licences("9")),
            (ReasonCode.REQUEST_ABOVE_POD_LIMIT,),
            id="a request above podLimit",
        ),
        pytest.param(LocalFilters().filter(node("n", defect="bad")), (ReasonCode.NODE_UNREADABLE,), id="defect"),
        pytest.param(NOT_IN_CACHE, (ReasonCode.NODE_NOT_IN_CACHE,), id="not in the cache"),
        pytest.param(TOO_COSTLY, (ReasonCode.TOO_COSTLY,), id="too costly"),
    ],
)
def test_status_has_the_code_of_its_rule(status: Status, codes: tuple[ReasonCode, ...]) -> None:
    assert status.reason_codes == codes


def test_every_rejection_of_preempt_has_a_code() -> None:
    assert len({rejection.reason_code for rejection in NodeRejection}) == len(NodeRejection)
