"""`python -m tests.image [IMAGE]`: run both commands of the image without rights, on a read-only root."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator

from tests.builders.event_fixtures import EVENTS, matches
from tests.deployment.docker import DockerUnavailable, docker
from tools.image.__main__ import TAG

from .container import HARDENED, Failed, becomes_healthy, is_nobody, running, stops_at_sigterm

NO_NETWORK = "--network=none"
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


def answers_healthz(container: str) -> None:
    answer = json.loads(docker("exec", container, "python", "-c", HEALTHZ))
    if "age" not in json.dumps(answer).lower():
        raise Failed(f"/healthz answers {answer}")


def answers_filter(container: str) -> None:
    """Check that filter answers as its fixture expects, which needs compiled dependencies for the image's Python."""
    body = (EVENTS / "filter" / "cache-mode.body.json").read_text()
    answer = json.loads(docker("exec", "--interactive", container, "python", "-c", FILTER, stdin=body))
    expected = json.loads((EVENTS / "filter" / "cache-mode.expected.json").read_text())
    if not matches(expected["body"], answer):
        raise Failed(f"filter answers {answer}")


def has_no_package_manager(container: str) -> None:
    """Check that neither a command nor a Python module can install packages."""
    script = f"for name in {' '.join(PACKAGE_MANAGERS)}; do command -v $name; done; python -m pip --version; true"
    found = docker("exec", container, "sh", "-c", f"({script}) 2>/dev/null")
    if found:
        raise Failed(f"the image has {found.split()}")


def needs_its_stack(image: str) -> None:
    """Check that `berth watch` without a network does not fail before it reads the stack."""
    try:
        docker(
            *("run", "--rm", *HARDENED, NO_NETWORK, "--env=AWS_ACCESS_KEY_ID=x", "--env=AWS_SECRET_ACCESS_KEY=x"),
            *(image, "watch", f"--stack={STACK}", "--region=eu-central-1"),
        )
    except DockerUnavailable as error:
        if f"the stack {STACK} cannot be described" in str(error):
            return
        raise Failed(f"berth watch: {error}") from error
    raise Failed("berth watch ended without an error")


STACK = "berth"

SERVE_CHECKS: tuple[Callable[[str], None], ...] = (
    becomes_healthy,
    answers_healthz,
    answers_filter,
    is_nobody,
    has_no_package_manager,
    stops_at_sigterm,
)


def _checked(image: str) -> Iterator[str]:
    """Run all checks, and yield their names if passed. Raises Failed at the first failure, or DockerUnavailable."""
    needs_its_stack(image)
    yield f"watch: {needs_its_stack.__name__}"
    dump = f"--volume={EVENTS / 'cluster.yaml'}:/cluster.yaml:ro"
    with running(image, (NO_NETWORK, dump), ("serve", "--cluster=/cluster.yaml")) as container:
        for check in SERVE_CHECKS:
            check(container)
            yield f"serve: {check.__name__}"


def main(arguments: list[str]) -> int:
    """Run the checks; return the exit status, 1 at the first check that fails."""
    image = arguments[0] if arguments else TAG
    passed = []
    try:
        for name in _checked(image):
            passed.append(name)
            print(f"ok      {name}", flush=True)
    except (DockerUnavailable, Failed) as error:
        print(f"FAILED  {error}", file=sys.stderr)
        return 1
    print(f"image {image}: {len(passed)} checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
