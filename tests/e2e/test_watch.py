"""`berth watch` in the place of the watcher function: the stack's tables and policy, and a pod's service account."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from berth.lease.dynamodb_item import HEAD_KEY
from berth_cli.watch.health import ALIVE, READY
from tests.deployment import sam

from .berth_serve import COMMAND
from .child_process import ChildProcess
from .cluster import Cluster
from .control_plane import ControlPlane
from .extender import ExtenderCache
from .identities import identities
from .label_priority import priority
from .stack import DeployedStack

pytestmark = pytest.mark.stack

READY_SECONDS = 60
# A released lease is found by the next try of a candidate, within 2 to 4.4 s.
TAKEOVER_SECONDS = 30
METRIC_SECONDS = 100
ROLE = "berth-watch"


class ExternallyWatchedStack(DeployedStack):
    """A stack without a watcher function. It becomes healthy when `berth watch` has published."""

    def _wait_until_healthy(self) -> None:
        """Nothing publishes yet."""


@dataclass(frozen=True)
class Watcher:
    """One process of `berth watch`, with the role of a pod."""

    process: ChildProcess
    health: Path
    log: Path

    def is_ready(self) -> bool:
        return (self.health / READY).exists() and (self.health / ALIVE).exists()


@pytest.fixture(scope="module")
def stack(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeployedStack]:
    directory = tmp_path_factory.mktemp("stack")
    with ExternallyWatchedStack(identities(control_plane), directory, {"WatcherMode": "external"}) as stack:
        yield stack


@pytest.fixture(scope="module")
def credentials(stack: DeployedStack) -> dict[str, str]:
    """Of a role that has the stack's policy and nothing else, as IRSA or Pod Identity gives them to a pod."""
    iam = stack.client("iam")
    account = stack.client("sts").get_caller_identity()["Account"]
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": f"arn:aws:iam::{account}:root"}}
    iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    iam.attach_role_policy(RoleName=ROLE, PolicyArn=_output(stack, "WatcherPolicyArn"))
    arn = iam.get_role(RoleName=ROLE)["Role"]["Arn"]
    found = stack.client("sts").assume_role(RoleArn=arn, RoleSessionName="pod")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
        "AWS_SESSION_TOKEN": found["SessionToken"],
    }


@contextmanager
def watching(
    stack: DeployedStack, control_plane: ControlPlane, credentials: dict[str, str], directory: Path
) -> Iterator[Watcher]:
    """A process until the context exits."""
    directory.mkdir()
    environment = {**stack.environment(), **credentials}
    kubeconfig = control_plane.kubeconfig(identities(control_plane).watcher)
    log, health = directory / "watch.log", directory / "health"
    command = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
    arguments = ["watch", f"--stack={sam.STACK_NAME}", f"--kubeconfig={kubeconfig}", f"--health-dir={health}"]
    process = ChildProcess([*command, COMMAND, *arguments], log)
    watcher = Watcher(process, health, log)
    try:
        process.wait_until(watcher.is_ready, seconds=READY_SECONDS)
        yield watcher
    finally:
        process.stop()


def test_processes_with_the_policy_of_the_stack_publish_and_hand_over(
    stack: DeployedStack,
    credentials: dict[str, str],
    control_plane: ControlPlane,
    cluster: Cluster,
    tmp_path: Path,
) -> None:
    best = cluster.create_node("best", priority(30))
    cache = ExtenderCache(stack)
    with watching(stack, control_plane, credentials, tmp_path / "first") as first:
        cache.wait_for_scores({best: 30})
        leader = _holder(stack)
        assert leader
        with watching(stack, control_plane, credentials, tmp_path / "second"):
            assert _holder(stack) == leader, "a healthy leader keeps the lease"
            assert first.process.stop() == 0
            stopped = time.monotonic()
            _until(lambda: _holder(stack) not in ("", leader), TAKEOVER_SECONDS)
            print(f"another process leads {time.monotonic() - stopped:.1f} s after SIGTERM has ended the first one")
            good = cluster.create_node("good", priority(10))
            cache.wait_for_scores({best: 30, good: 10})
            second = _holder(stack)
    assert _holder(stack) == "", "SIGTERM releases the lease"
    assert second != leader
    for name in ("first", "second"):
        log = (tmp_path / name / "watch.log").read_text()
        assert "AccessDenied" not in log
        assert "were not sent" not in log
    _until(lambda: _publications(stack) > 0, METRIC_SECONDS)


def _output(stack: DeployedStack, key: str) -> str:
    [found] = stack.client("cloudformation").describe_stacks(StackName=sam.STACK_NAME)["Stacks"]
    [value] = [each["OutputValue"] for each in found["Outputs"] if each["OutputKey"] == key]
    return str(value)


def _holder(stack: DeployedStack) -> str:
    item = stack.client("dynamodb").get_item(TableName=stack.name("CacheTable"), Key=HEAD_KEY)["Item"]
    return str(item["holderIdentity"]["S"])


def _publications(stack: DeployedStack) -> float:
    """The metric of the alarm WatcherNotRunning."""
    now = time.time()
    found: dict[str, Any] = stack.client("cloudwatch").get_metric_statistics(
        Namespace="Berth",
        MetricName="Publications",
        Dimensions=[{"Name": "stack", "Value": sam.STACK_NAME}],
        StartTime=now - 3600,
        EndTime=now + 60,
        Period=60,
        Statistics=["Sum"],
    )
    return float(sum(each["Sum"] for each in found["Datapoints"]))


def _until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.2)
