"""`python -m tests.image [IMAGE]`: run both commands of the image without rights, read-only, and without a network."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.builders.event_fixtures import EVENTS, matches
from tools.image.__main__ import TAG
from tools.image.docker import DockerUnavailable, docker, may_skip

HARDENED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none")
USER = "65532"
HEALTHY_SECONDS = 120
POLL_SECONDS = 1.0
PACKAGE_MANAGERS = ("apt", "apt-get", "dpkg", "pip", "pip3", "rpm", "apk", "npm")

HEALTHZ = """
import urllib.request
print(urllib.request.urlopen("http://127.0.0.1:8080/healthz", timeout=5).read().decode())
"""
FILTER = """
import sys, urllib.request
request = urllib.request.Request("http://127.0.0.1:8080/scheduler/filter", sys.stdin.buffer.read(),
                                 {"Content-Type": "application/json"})
print(urllib.request.urlopen(request, timeout=20).read().decode())
"""


class Failed(Exception):
    """The image does not do what it should."""


@contextmanager
def serving(image: str) -> Iterator[str]:
    """The id of a container with `berth serve`; it is removed at the end."""
    container = docker(
        *("run", "--detach", *HARDENED, f"--volume={EVENTS / 'cluster.yaml'}:/cluster.yaml:ro"),
        *(image, "serve", "--cluster=/cluster.yaml"),
    )
    try:
        yield container
    finally:
        docker("rm", "--force", container)


def becomes_healthy(container: str) -> None:
    """Docker's own health check passes."""
    deadline, state = time.monotonic() + HEALTHY_SECONDS, ""
    while state != "healthy":
        state, running = docker("inspect", "--format={{.State.Health.Status}} {{.State.Running}}", container).split()
        if running != "true" or time.monotonic() > deadline:
            raise Failed(f"the container is {state}, running: {running}\n{logs(container)}")
        time.sleep(POLL_SECONDS)


def answers_healthz(container: str) -> None:
    """/healthz has the age of the data."""
    answer = json.loads(docker("exec", container, "python", "-c", HEALTHZ))
    if "age" not in json.dumps(answer).lower():
        raise Failed(f"/healthz answers {answer}")


def answers_filter(container: str) -> None:
    """A verb decides as its fixture says: all compiled dependencies are those of the image's Python."""
    body = (EVENTS / "filter" / "cache-mode.body.json").read_text()
    answer = json.loads(docker("exec", "--interactive", container, "python", "-c", FILTER, stdin=body))
    expected = json.loads((EVENTS / "filter" / "cache-mode.expected.json").read_text())
    if not matches(expected["body"], answer):
        raise Failed(f"filter answers {answer}")


def is_nobody(container: str) -> None:
    """The process is no root, and its root cannot be written."""
    found = docker("exec", container, "sh", "-c", "id -u; touch /opt/berth/x 2>/dev/null || echo refused")
    if found.split() != [USER, "refused"]:
        raise Failed(f"user, and a write below /opt/berth: {found.split()}")


def has_no_package_manager(container: str) -> None:
    """Neither a command nor a module of Python installs anything."""
    script = f"for name in {' '.join(PACKAGE_MANAGERS)}; do command -v $name; done; python -m pip --version; true"
    found = docker("exec", container, "sh", "-c", f"({script}) 2>/dev/null")
    if found:
        raise Failed(f"the image has {found.split()}")


def stops_at_sigterm(container: str) -> None:
    """As a kubelet ends it: cleanly, and not by SIGKILL after the time."""
    docker("stop", "--time=20", container)
    code = docker("inspect", "--format={{.State.ExitCode}}", container)
    if code not in ("0", "143"):
        raise Failed(f"exit status {code}\n{logs(container)}")


def watch_starts(image: str) -> None:
    """`berth watch` comes as far as the stack that it cannot reach here."""
    try:
        docker(
            *("run", "--rm", *HARDENED, "--env=AWS_ACCESS_KEY_ID=x", "--env=AWS_SECRET_ACCESS_KEY=x", image),
            *("watch", "--stack=berth-production", "--region=eu-central-1"),
        )
    except DockerUnavailable as error:
        if "the stack berth-production cannot be described" in str(error):
            return
        raise Failed(f"berth watch: {error}") from error
    raise Failed("berth watch ended without an error")


CHECKS: tuple[Callable[[str], None], ...] = (
    becomes_healthy,
    answers_healthz,
    answers_filter,
    is_nobody,
    has_no_package_manager,
    stops_at_sigterm,
)


def logs(container: str) -> str:
    """What the command wrote, both of its outputs."""
    return docker("logs", "--tail=30", container)


def main(arguments: list[str]) -> int:
    """Exit status 1 at the first check that fails."""
    image = arguments[0] if arguments else TAG
    try:
        watch_starts(image)
        with serving(image) as container:
            for check in CHECKS:
                check(container)
                print(f"ok      {check.__name__}", flush=True)
    except Failed as error:
        print(f"FAILED  {error}", file=sys.stderr)
        return 1
    except DockerUnavailable as error:
        if may_skip(error):
            return 0
        print(f"FAILED  {error}", file=sys.stderr)
        return 1
    print(f"image {image}: {len(CHECKS) + 1} checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
