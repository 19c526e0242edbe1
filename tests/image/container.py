"""A container of the image as a cluster runs it, and checks of every container."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.deployment.docker import docker

HARDENED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges")
USER = "65532"
HEALTHY_SECONDS = 120
POLL_SECONDS = 1.0


class Failed(Exception):
    """The image fails a check."""


@contextmanager
def running(image: str, options: Sequence[str | Path], command: Sequence[str]) -> Iterator[str]:
    """Run a container with this command of berth, and yield its id; remove it at the end. options: of `docker run`."""
    container = docker("run", "--detach", *HARDENED, *options, image, *command)
    try:
        yield container
    finally:
        docker("rm", "--force", container)


def wait_until(container: str, problem: Callable[[], str]) -> None:
    """Wait until there is no problem. Raises Failed with the last problem on timeout, or if the container has ended."""
    deadline = time.monotonic() + HEALTHY_SECONDS
    while found := problem():
        is_running = docker("inspect", "--format={{.State.Running}}", container) == "true"
        if not is_running or time.monotonic() > deadline:
            raise Failed(f"{found}{'' if is_running else ', and has ended'}\n{logs(container)}")
        time.sleep(POLL_SECONDS)


def becomes_healthy(container: str) -> None:
    def problem() -> str:
        state = docker("inspect", "--format={{.State.Health.Status}}", container)
        return "" if state == "healthy" else f"the container is {state}"

    wait_until(container, problem)


def is_nobody(container: str) -> None:
    """Check that the process is not root and cannot write below /opt/berth."""
    found = docker("exec", container, "sh", "-c", "id -u; touch /opt/berth/x 2>/dev/null || echo refused")
    if found.split() != [USER, "refused"]:
        raise Failed(f"user, and a write below /opt/berth: {found.split()}")


def stops_at_sigterm(container: str) -> None:
    """Stop the container as the kubelet does, and check that it exits cleanly before SIGKILL."""
    docker("stop", "--time=20", container)
    code = docker("inspect", "--format={{.State.ExitCode}}", container)
    if code not in ("0", "143"):
        raise Failed(f"exit status {code}\n{logs(container)}")


def logs(container: str) -> str:
    return docker("logs", "--tail=30", container)
