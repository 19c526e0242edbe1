"""`berth watch` instead of the watcher function: the stack's tables and policy, a pod's service account, and the
arguments and probes of the Deployment in examples/watcher-pod, as the API server stores it.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from berth.dynamodb import HEAD_KEY
from berth.nodecache.feed.dynamodb_head import read_head
from tests.deployment import sam

from .berth.berth_serve import COMMAND
from .berth.identities import EXAMPLES, identities
from .berth.label_priority import priority
from .berth.stack import DeployedStack
from .kubernetes.child_process import ChildProcess
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import JsonObject, KubernetesApi
from .kubernetes.manifests import apply_manifests, delete_manifests, read_back, read_manifests

pytestmark = pytest.mark.stack

READY_SECONDS = 60
# A candidate finds a released lease with its next try, within 2 to 4.4 s.
TAKEOVER_SECONDS = 30
ROLE = "berth-watch"


class ExternallyWatchedStack(DeployedStack):
    """A stack without a watcher function: nothing publishes until `berth watch` runs."""

    def _wait_until_healthy(self) -> None:
        """Do not wait: the stack becomes healthy only when `berth watch` runs."""


PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


@dataclass(frozen=True)
class Container:
    """The container of the Deployment, with its volume in a directory of this machine."""

    spec: JsonObject
    run: Path

    def arguments(self) -> list[str]:
        return [self._localized(each) for each in self.spec["args"]]

    def probes(self) -> list[bool]:
        commands = [[self._localized(each) for each in self.spec[probe]["exec"]["command"]] for probe in PROBES]
        return [subprocess.run(command, check=False).returncode == 0 for command in commands]

    def _localized(self, text: str) -> str:
        return text.replace("/run/berth", str(self.run)).replace("berth-production", sam.STACK_NAME)


@dataclass(frozen=True)
class Watcher:
    """A process of `berth watch`, with the role of a pod."""

    process: ChildProcess
    container: Container
    log: Path


@pytest.fixture(scope="module")
def deployment(control_plane: ControlPlane) -> Iterator[JsonObject]:
    """Yield the Deployment as stored by the API server, which rejects unknown fields and sets defaults."""
    api = KubernetesApi(control_plane.credentials())
    documents = read_manifests(EXAMPLES / "watcher-pod" / "watcher.yaml")
    apply_manifests(api, documents)
    found, _ = read_back(api, documents)
    yield found
    delete_manifests(api, documents)


@pytest.fixture(scope="module")
def stack(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeployedStack]:
    directory = tmp_path_factory.mktemp("stack")
    with ExternallyWatchedStack(identities(control_plane), directory, {"WatcherMode": "external"}) as stack:
        yield stack


@pytest.fixture(scope="module")
def credentials(stack: DeployedStack) -> dict[str, str]:
    """Return the credentials of a role that has only the stack's policy, as a pod gets them by IRSA or Pod Identity."""
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
    stack: DeployedStack,
    control_plane: ControlPlane,
    credentials: dict[str, str],
    deployment: JsonObject,
    directory: Path,
) -> Iterator[Watcher]:
    directory.mkdir()
    environment = {**stack.environment(), **credentials}
    [spec] = deployment["spec"]["template"]["spec"]["containers"]
    container = Container(spec, directory)
    assert container.probes() == [False] * len(PROBES)
    kubeconfig = control_plane.kubeconfig(identities(control_plane).watcher)
    log = directory / "watch.log"
    command = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
    process = ChildProcess([*command, COMMAND, *container.arguments(), f"--kubeconfig={kubeconfig}"], log)
    try:
        process.wait_until(lambda: all(container.probes()), seconds=READY_SECONDS)
        yield Watcher(process, container, log)
    finally:
        process.stop()


def test_watch_processes_with_the_policy_of_the_stack_publish_and_hand_over(
    stack: DeployedStack,
    credentials: dict[str, str],
    control_plane: ControlPlane,
    deployment: JsonObject,
    cluster: Cluster,
    tmp_path: Path,
) -> None:
    with watching(stack, control_plane, credentials, deployment, tmp_path / "first") as first:
        leader = _until(lambda: _holder(stack), READY_SECONDS)
        cluster.create_node("best", priority(30))
        _until(lambda: _version(stack), READY_SECONDS)
        with watching(stack, control_plane, credentials, deployment, tmp_path / "second"):
            assert _holder(stack) == leader, "a healthy leader keeps the lease"
            assert first.process.stop() == 0
            successor = _until(lambda: _holder(stack).replace(leader, ""), TAKEOVER_SECONDS)
            # Without a change, a successor that continues the log does not publish another version.
            published = _version(stack)
            cluster.create_node("later", priority(20))
            _until(lambda: _version(stack) > published, TAKEOVER_SECONDS)
    assert successor != leader
    assert _holder(stack) == "", "SIGTERM releases the lease"
    for name in ("first", "second"):
        log = (tmp_path / name / "watch.log").read_text()
        # The emulator does not know the condition key cloudwatch:namespace.
        denied = [line for line in log.splitlines() if "AccessDenied" in line and "PutMetricData" not in line]
        assert denied == []


def _output(stack: DeployedStack, key: str) -> str:
    [found] = stack.client("cloudformation").describe_stacks(StackName=sam.STACK_NAME)["Stacks"]
    [value] = [each["OutputValue"] for each in found["Outputs"] if each["OutputKey"] == key]
    return str(value)


def _holder(stack: DeployedStack) -> str:
    item = stack.client("dynamodb").get_item(TableName=stack.name("CacheTable"), Key=HEAD_KEY)["Item"]
    return str(item["holderIdentity"]["S"])


def _version(stack: DeployedStack) -> int:
    item = stack.client("dynamodb").get_item(TableName=stack.name("CacheTable"), Key=HEAD_KEY)["Item"]
    head = read_head(item)
    return 0 if head.pointer is None else head.pointer.version


T = TypeVar("T")


def _until(ask: Callable[[], T], seconds: float) -> T:
    """Return the first answer that is true."""
    deadline = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.2)
    return found
