"""Berth's rejections of a pod are distinguished from rejections by others."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from berth.cluster.field_projection import BERTH_REASONS, IN_TREE, RequiredFields, has_any_reason, reasons_of
from berth.cluster.watch.resources import PODS
from berth.extender.outcomes import WAITING
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import FilterPlugin, Plugin
from berth.scheduling.managed_resources.floating import POOL_REASONS
from berth.scheduling.objects.projection import rejected_by_berth
from berth.scheduling.plugins.custom_plugins import custom_plugin
from berth.scheduling.plugins.node_taints import REASON_NOT_READY, NodeReady
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin
from tests.builders.counted import LICENCES, SLICES, configuration
from tests.unit.cluster.projected import WHOLE_POD, kept

REASON_OF_A_PLUGIN_OF_THE_USERS = "node(s) were not to my liking"


def rejected(message: object, *, scheduled: str = "False", **parts: Any) -> bool:
    condition = {"type": "PodScheduled", "status": scheduled, "reason": "Unschedulable", "message": message}
    found = WHOLE_POD | {"status": {"phase": "Pending", "conditions": [condition]}} | parts
    trimmed = kept(PODS, found)
    assert "available" not in str(trimmed)
    return rejected_by_berth(trimmed)


def test_marks_pod_that_waits_for_the_cache() -> None:
    assert rejected(WAITING)


def test_reasons_of_floating_pools_belong_to_berth_in_any_configuration() -> None:
    """A dump is read before its configuration is known."""
    assert POOL_REASONS <= BERTH_REASONS


@pytest.mark.parametrize("reason", sorted(BERTH_REASONS))
def test_marks_pod_that_berth_rejected(reason: str) -> None:
    assert rejected(f"0/20 nodes are available: 20 {reason}. no new claims to deallocate, preemption: 0/20 nodes are …")
    assert rejected(f"0/20 nodes are available: 3 Insufficient cpu, 17 {reason}. preemption: not helpful.")
    assert rejected(f"0/20 nodes are available: 3 {reason}, 17 node(s) were unschedulable. preemption: not helpful.")
    assert rejected(f"0/20 nodes are available: 20 {reason}")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("0/3 nodes are available: 3 Insufficient cpu. preemption: none.", id="an in-tree reason"),
        pytest.param("0/3 nodes are available: 3 node(s) were not ready to go. none.", id="a longer reason"),
        pytest.param("node(s) were not ready", id="a text without node counts"),
        pytest.param("", id="no message"),
        pytest.param(None, id="null"),
        pytest.param(7, id="a number"),
    ],
)
def test_does_not_mark_a_pod_that_only_other_plugins_reject(message: object) -> None:
    assert not rejected(message)


def test_marks_only_pending_pods_by_their_condition() -> None:
    message = f"0/1 nodes are available: 1 {min(BERTH_REASONS)}."
    assert rejected(message)
    assert not rejected(message, scheduled="True")
    assert not rejected(message, spec=WHOLE_POD["spec"] | {"nodeName": "n1"})
    assert not rejected_by_berth(WHOLE_POD)


@pytest.mark.parametrize("conditions", [None, 7, [], [7], [{"type": "PodScheduled"}], [{"type": "Ready"}]])
def test_does_not_mark_pod_without_a_readable_scheduling_condition(conditions: object) -> None:
    assert not rejected_by_berth(kept(PODS, WHOLE_POD | {"status": {"conditions": conditions}}))


def test_only_filters_of_berth_have_reasons_of_berth() -> None:
    assert SHIPPED_PLUGINS.keys() > IN_TREE
    for name, registered in [(name, shipped_plugin(name)) for name in SHIPPED_PLUGINS]:
        if name in IN_TREE:
            assert not reasons_of(registered.plugin) & BERTH_REASONS
        elif issubclass(registered.plugin, FilterPlugin):  # type: ignore[arg-type]
            assert reasons_of(registered.plugin) <= BERTH_REASONS
            assert reasons_of(registered.plugin)


@pytest.mark.parametrize(
    ("profile", "message", "is_own"),
    [
        pytest.param("label-priority", "0/1 nodes are available: 1 Insufficient cpu.", False, id="the scheduler's"),
        pytest.param("full", "0/1 nodes are available: 1 Insufficient cpu.", True, id="possibly also Berth's reason"),
        pytest.param("full", "0/2 nodes are available: 2 Insufficient example.com/x, 1 other.", True, id="resource"),
        pytest.param("full", "0/1 nodes are available: 1 node(s) had untolerated taint(s). no", True, id="a taint"),
        pytest.param(
            "full", "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.", True, id="anti-affinity"
        ),
        pytest.param("full", "0/1 nodes are available: 1 Insufficient room for it.", False, id="another text"),
    ],
)
def test_in_tree_reasons_belong_to_berth_if_a_profile_has_their_filter(
    profile: str, message: str, is_own: bool
) -> None:
    needs = RequiredFields.of(BerthConfiguration(profile=profile).policy())
    pod = WHOLE_POD | {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}}
    assert rejected_by_berth(kept(PODS, pod, needs)) is is_own


class Readier(NodeReady):
    """A user's plugin that extends a plugin of Berth."""


def test_custom_plugin_has_its_own_reasons_and_the_reasons_of_its_base_class() -> None:
    assert reasons_of(Readier) >= {REASON_OF_A_PLUGIN_OF_THE_USERS, REASON_NOT_READY}


CUSTOM = """
from berth.scheduling.framework import FilterPlugin, unschedulable
from berth_plugins.texts import ELSEWHERE

TAKEN = unschedulable("Mine", "node(s) were taken")

REASON_TWICE = TAKEN.message + " twice"

class Base(FilterPlugin):
    def filter(self, state, node):
        return unschedulable("Mine", "node(s) were closed")

class Mine(Base):
    REASONS = ("node(s) were too far",)
"""


@pytest.fixture
def custom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugin]:
    """Yield a plugin from a package of its own, as a document names it."""
    package = tmp_path / "berth_plugins"
    package.mkdir()
    for name, text in (("__init__", ""), ("texts", "ELSEWHERE = 'node(s) were elsewhere'"), ("mine", CUSTOM)):
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    found = custom_plugin("berth_plugins.mine:Mine")
    yield found.plugin(found.args())
    for name in [each for each in sys.modules if each.startswith("berth_plugins")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("reason", "is_own"),
    [
        pytest.param("node(s) were taken", True, id="a status in its module"),
        pytest.param("node(s) were closed", True, id="in a method of its base"),
        pytest.param("node(s) were too far", True, id="in a tuple"),
        pytest.param("node(s) were taken twice", True, id="a concatenated constant"),
        pytest.param("node(s) were elsewhere", True, id="in another module of the package"),
        pytest.param("node(s) were unschedulable", False, id="a reason of another plugin"),
    ],
)
def test_reasons_are_found_anywhere_in_a_custom_plugins_package(custom: Plugin, reason: str, is_own: bool) -> None:
    assert has_any_reason(f"0/1 nodes are available: 1 {reason}. no new", reasons_of(custom)) is is_own


@pytest.mark.parametrize(
    ("resources", "message", "is_own"),
    [
        pytest.param([LICENCES], "Insufficient example.com/licence", True, id="a counted resource"),
        pytest.param([SLICES], "Insufficient example.com/licence", False, id="a resource that is not counted"),
        pytest.param([LICENCES], "Insufficient cpu", False, id="cpu"),
        pytest.param(
            [LICENCES],
            "the pod's request of example.com/licence is not an amount of at most 10^15",
            True,
            id="an invalid amount",
        ),
        pytest.param(
            [LICENCES],
            "node(s) had an amount of example.com/licence that cannot be read",
            True,
            id="an invalid amount of a node",
        ),
    ],
)
def test_shortage_of_a_counted_resource_is_a_reason_of_berth(
    resources: list[Mapping[str, object]], message: str, is_own: bool
) -> None:
    needs = RequiredFields.of(configuration(*resources).policy())
    condition = {"type": "PodScheduled", "status": "False", "message": f"0/1 nodes are available: 1 {message}. no new"}
    assert rejected_by_berth(kept(PODS, WHOLE_POD | {"status": {"conditions": [condition]}}, needs)) is is_own
