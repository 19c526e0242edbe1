"""`berth doctor` on a deployed stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from berth_cli.doctor.side import shown
from tests.deployment import sam
from tests.deployment.emulator import REGION

from .control_plane import ControlPlane
from .doctor import Diagnosis, berth_doctor
from .loopback import HOST, free_port
from .stack import DeployedStack


@pytest.fixture
def stack(extender: Any) -> DeployedStack:
    assert isinstance(extender, DeployedStack)
    return extender


def _of_stack(stack: DeployedStack, *arguments: str | Path) -> Diagnosis:
    return berth_doctor(
        f"--stack={sam.STACK_NAME}",
        # The stack's own address has a host name that only the emulator knows.
        f"--url={shown(stack.url_prefix)}",
        "--timeout=30",
        *arguments,
        environment=stack.environment(),
    )


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
def test_the_deployed_stack(stack: DeployedStack) -> None:
    sound = _of_stack(stack)
    # How long calls take on a shared machine is nobody's fault here.
    assert set(sound.bad) <= {"httpTimeout"}, sound.findings
    for check in ("table", "lease", "schedule", "functions", "cache", "watcher", "same-cluster", "watcher-rights"):
        assert sound.result(check) == {"ok"}, sound.findings

    scheduler, name = stack.client("scheduler"), stack.schedule
    schedule = scheduler.get_schedule(Name=name)
    kept = {key: schedule[key] for key in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")}
    scheduler.update_schedule(**kept, State="DISABLED")
    try:
        assert "nothing starts the watcher" in _of_stack(stack).bad["schedule"]
    finally:
        scheduler.update_schedule(**kept, State="ENABLED")


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
def test_the_stack_of_another_cluster(stack: DeployedStack, tmp_path: Path) -> None:
    with ControlPlane(tmp_path) as other:
        found = _of_stack(stack, f"--watcher-kubeconfig={other.kubeconfig()}")
    assert "the cache is of the cluster" in found.bad["same-cluster"]


def test_an_account_that_does_not_answer_is_one_failure() -> None:
    nowhere = {
        "AWS_ENDPOINT_URL": f"http://{HOST}:{free_port()}",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_MAX_ATTEMPTS": "1",
    }
    missing = berth_doctor(f"--stack={sam.STACK_NAME}", environment=nowhere)
    assert set(missing.bad) == {"stack"}
    assert missing.exit_status == 1
