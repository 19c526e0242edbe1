"""Counted resources of a BerthConfiguration for kube-scheduler's managedResources."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.scheduler_config.managed_resources import ManagedResource, ManagedResources, managed_resources_of
from tests.builders import counted

COUNTED = (ManagedResource("example.com/licence"),)
BOTH = (ManagedResource("example.com/gpu", False), ManagedResource("example.com/gpu-percentage", False))

LICENCE = SimpleNamespace(names=("example.com/licence",), ignored_by_scheduler=True, requests=None)
GPU = SimpleNamespace(
    names=("example.com/gpu", "example.com/gpu-percentage"), ignored_by_scheduler=False, requests=None
)
ANNOTATED = SimpleNamespace(names=("example.com/slot",), ignored_by_scheduler=True, requests=object())

COUNTING, SCORING = ["ManagedResources"], ["NodePriorityLabel"]


def configuration(counted: list[Any], *plugins: list[str]) -> BerthConfiguration:
    """With a profile for each list of plugins."""
    named = {str(index): [SimpleNamespace(name=name) for name in each] for index, each in enumerate(plugins)}
    found = SimpleNamespace(
        managed_resources=tuple(counted),
        gangs=SimpleNamespace(enabled=False),
        profile="0",
        profiles={f"scheduler-{name}": name for name in named},
        composition=lambda name: SimpleNamespace(plugins=named[name]),
        build_profile=lambda name: SimpleNamespace(for_bind=lambda: SimpleNamespace(filters=())),
    )
    return cast(BerthConfiguration, found)


@pytest.mark.parametrize(
    ("counted", "plugins", "wanted"),
    [
        pytest.param([], [SCORING], ManagedResources(), id="nothing is counted"),
        pytest.param([LICENCE], [COUNTING], ManagedResources(COUNTED, counts_only=True), id="nothing else is done"),
        pytest.param([LICENCE], [COUNTING, SCORING], ManagedResources(COUNTED), id="a profile does more"),
        pytest.param([LICENCE], [SCORING], ManagedResources(COUNTED), id="bind counts all the same"),
        pytest.param(
            [GPU], [COUNTING], ManagedResources(BOTH, counts_only=True), id="every name by which a container asks"
        ),
        pytest.param(
            [ANNOTATED],
            [COUNTING],
            ManagedResources(counts_only=True, by_annotation=True),
            id="annotations are no names",
        ),
    ],
)
def test_reads_managed_resources(counted: list[Any], plugins: list[list[str]], wanted: ManagedResources) -> None:
    assert managed_resources_of(configuration(counted, *plugins)) == wanted


def test_default_configuration_has_no_managed_resources() -> None:
    assert managed_resources_of(BerthConfiguration()) == ManagedResources()


@pytest.mark.parametrize(
    ("profile", "rules_about_pods"),
    [
        pytest.param("managed-resources", False, id="the ledger judges what is counted"),
        pytest.param("label-priority", False, id="rules about nodes"),
        pytest.param("full", True, id="rules about other pods"),
    ],
)
def test_says_whether_rules_are_about_other_pods(profile: str, rules_about_pods: bool) -> None:
    found = managed_resources_of(counted.configuration(counted.LICENCES, profile=profile))
    assert found.rules_about_pods is rules_about_pods


def test_gangs_need_every_pod_even_where_the_policy_only_counts() -> None:
    found = managed_resources_of(counted.configuration(counted.LICENCES, gangs={"enabled": True}))
    assert (found.gangs, found.counts_only, found.bind_needs_every_pod) == (True, False, True)
