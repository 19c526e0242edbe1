"""Decisions of a real kube-scheduler that a deployed stack keeps in its table: explained by a user of AWS who has the
rights that the page names, and no others."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.deployment import sam

from .berth.berth_serve import COMMAND, CONFIGURATION
from .berth.extender import Extender, ExtenderCache
from .berth.label_priority import NO_LABEL, priority
from .berth.stack import DeployedStack
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind

TO_TABLE = f"{CONFIGURATION}decisions: table\n"
NODES, PODS = 5, 20
CREATE_SECONDS = 0.15
"""Between two pods: of each verb a stack keeps at most 10 decisions a second."""

SECONDS, BOUND_SECONDS = 120, 600
PENDING = 1
ROLE = "berth-user"
PAGE = "explain.md"
_RIGHT = re.compile(r"^\| (`(?:cloudformation|dynamodb):[^|]*) \| ([^|]*) \|$", re.MULTILINE)


@pytest.fixture
def stack(extender: Extender) -> Iterator[DeployedStack]:
    """Yield a stack with decisions in its table until the test ends."""
    assert isinstance(extender, DeployedStack)
    extender.apply(TO_TABLE)
    yield extender
    extender.apply(CONFIGURATION)


@pytest.fixture
def user(stack: DeployedStack) -> Iterator[Mapping[str, str]]:
    """The environment of a command of this user."""
    iam, account = stack.client("iam"), stack.client("sts").get_caller_identity()["Account"]
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": f"arn:aws:iam::{account}:root"}}
    role = iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=_policy([trust]))["Role"]["Arn"]
    iam.put_role_policy(RoleName=ROLE, PolicyName="documented", PolicyDocument=_policy(documented_rights(stack)))
    found = stack.client("sts").assume_role(RoleArn=role, RoleSessionName="user")["Credentials"]
    yield {
        **stack.environment(),
        "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
        "AWS_SESSION_TOKEN": found["SessionToken"],
    }
    iam.delete_role_policy(RoleName=ROLE, PolicyName="documented")
    iam.delete_role(RoleName=ROLE)


def documented_rights(stack: DeployedStack) -> list[dict[str, Any]]:
    """Statements of the table in the page."""
    (describe, _), (read, items) = _RIGHT.findall((sam.PROJECT / "docs" / "how-to" / PAGE).read_text())
    keys = re.findall(r"`([^`]*)`", items)
    assert len(keys) == 5, items
    return [
        {"Effect": "Allow", "Action": re.findall(r"`([^`]*)`", describe), "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": re.findall(r"`([^`]*)`", read),
            "Resource": stack.client("dynamodb").describe_table(TableName=stack.name("CacheTable"))["Table"][
                "TableArn"
            ],
            "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": keys}},
        },
    ]


def _policy(statements: list[dict[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


@pytest.mark.core
@pytest.mark.core_on_stack
@pytest.mark.parametrize("extender", [pytest.param("stack", marks=pytest.mark.stack)], indirect=True)
def test_explain_shows_decisions_from_the_table(
    stack: DeployedStack,
    user: Mapping[str, str],
    control_plane: ControlPlane,
    cluster: Cluster,
    run_scheduler: RunScheduler,
) -> None:
    api = KubernetesApi(control_plane.credentials())
    scores = {cluster.create_node(f"node-{index}", priority(index), cpu="64"): index for index in range(NODES)}
    plain = cluster.create_node("plain", cpu="64")
    ExtenderCache(stack).wait_for_scores(scores)
    run_scheduler(filter_prioritize_bind(stack.url_prefix))
    pending = _on(api, plain)
    for index in range(PODS):
        cluster.create_pod(f"pod-{index}", cpu="10m")
        time.sleep(CREATE_SECONDS)
    until = time.monotonic() + BOUND_SECONDS
    while (left := _without_node(api)) > 1:
        assert time.monotonic() < until, f"{left} of {PODS} pods have no node"
        time.sleep(1)
    cluster.wait_until_unschedulable(pending, "0/")
    status, output = _run(user, "explain", f"default/{pending.name}", f"--stack={sam.STACK_NAME}")
    assert status == PENDING, output
    assert output.startswith(f"default/{pending.name}: pending"), output
    assert NO_LABEL in output
    assert f"add the label priority.lixueduan.com=1 to node {plain}" in output
    assert "Attempts" in output


def _run(user: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """The exit status and the output of a command of this user."""
    done = subprocess.run(
        [COMMAND, *arguments], env=dict(user), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.stdout, done.stderr
    return done.returncode, done.stdout


def _on(api: KubernetesApi, node: str) -> Pod:
    """A pod that can go there alone."""
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "10m"}}}
    spec = {
        "schedulerName": "default-scheduler",
        "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": node},
    }
    created = api.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "pending"}, "spec": spec})
    return Pod("default", "pending", created["metadata"]["uid"])


def _without_node(api: KubernetesApi) -> int:
    found = api.get("/api/v1/namespaces/default/pods")["items"]
    return sum(not pod["spec"].get("nodeName") for pod in found)
