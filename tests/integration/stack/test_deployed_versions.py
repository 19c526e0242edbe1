"""A changed layer or parameter publishes a new version of each function that uses it, and moves its alias.

The tests run in order on one stack.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.deployment import sam
from tests.deployment.emulator import Emulator

pytestmark = pytest.mark.build

PARTS = ("template.yaml", "samconfig.toml", "functions", "layers", "LICENSE", "README.md")


@dataclass(frozen=True)
class Published:
    """A version of a function, and the version of the scheduling layer in it."""

    version: str
    layer: str


Live: TypeAlias = Mapping[str, Published]


class Stack:
    """A copy of the project, deployed repeatedly to its own account."""

    def __init__(self, directory: Path, emulator: Emulator) -> None:
        self._directory = directory
        self._emulator = emulator
        self._cluster = emulator.create_kubeconfigs({}, {})
        self.project = directory / "project"
        self.project.mkdir()
        for part in PARTS:
            source = sam.PROJECT / part
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, self.project / part)

    def deploy(self, **parameters: str) -> None:
        machine = sam.Machine.this()
        template = sam.build(self._directory / "build", machine, project=self.project)
        sam.deploy(
            template,
            {**self._cluster, "Authentication": "basic", **machine.parameters, **parameters},
            self._emulator.environment(),
            project=self.project,
        )

    def live(self) -> Live:
        """The version behind each function's alias, by logical id."""
        functions = self._emulator.client("lambda")
        summaries = self._emulator.client("cloudformation").list_stack_resources(StackName=sam.STACK_NAME)
        found = {}
        for resource in summaries["StackResourceSummaries"]:
            if resource["ResourceType"] == "AWS::Lambda::Function":
                live = functions.get_function_configuration(
                    FunctionName=resource["PhysicalResourceId"], Qualifier="live"
                )
                found[resource["LogicalResourceId"]] = Published(live["Version"], live["Layers"][0]["Arn"])
        return found

    def versions(self) -> dict[str, set[str]]:
        """All published versions of each function, by logical id."""
        functions = self._emulator.client("lambda")
        summaries = self._emulator.client("cloudformation").list_stack_resources(StackName=sam.STACK_NAME)
        return {
            resource["LogicalResourceId"]: {
                each["Version"]
                for each in functions.list_versions_by_function(FunctionName=resource["PhysicalResourceId"])["Versions"]
            }
            - {"$LATEST"}
            for resource in summaries["StackResourceSummaries"]
            if resource["ResourceType"] == "AWS::Lambda::Function"
        }

    def scheduled(self) -> str:
        """The ARN that the schedule invokes."""
        schedules = self._emulator.client("scheduler")
        [schedule] = schedules.list_schedules()["Schedules"]
        arn: str = schedules.get_schedule(Name=schedule["Name"])["Target"]["Arn"]
        return arn


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    if not sam.COMMAND.exists():
        pytest.skip("sam and ministack are not installed: make tools")
    directory = tmp_path_factory.mktemp("layer-reaches-alias")
    with Emulator(directory / "account") as emulator:
        yield Stack(directory, emulator)


@pytest.fixture(scope="module")
def first(stack: Stack) -> Live:
    stack.deploy()
    return stack.live()


def test_unchanged_project_publishes_no_version(stack: Stack, first: Live) -> None:
    stack.deploy()
    assert stack.live() == first


def test_layer_change_publishes_a_version_of_every_function(stack: Stack, first: Live) -> None:
    module = stack.project / "layers" / "scheduling" / "berth" / "__init__.py"
    module.write_bytes(module.read_bytes() + b"\n")
    stack.deploy()
    changed = stack.live()
    assert [name for name in first if changed[name].version == first[name].version] == []
    assert [name for name in first if changed[name].layer == first[name].layer] == []


def test_parameter_change_publishes_versions_of_all_functions(stack: Stack, first: Live) -> None:
    before = stack.live()
    stack.deploy(Profile="resource-segregation")
    after = stack.live()
    assert [name for name in first if after[name].version == before[name].version] == []


def test_cluster_parameter_publishes_versions_of_bind_and_watcher(stack: Stack, first: Live) -> None:
    before = stack.live()
    stack.deploy(Profile="resource-segregation", WatcherMode="periodic")
    after = stack.live()
    changed = {name for name in first if after[name].version != before[name].version}
    assert changed == {"BindFunction", "WatcherFunction"}


def test_old_versions_are_gone(stack: Stack, first: Live) -> None:
    assert stack.versions() == {name: {published.version} for name, published in stack.live().items()}


def test_schedule_invokes_the_live_alias(stack: Stack, first: Live) -> None:
    assert stack.scheduled().endswith(":live")
