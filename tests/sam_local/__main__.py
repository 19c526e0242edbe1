"""`python -m tests.sam_local [FIXTURE...]`: a fixture is, for example, filter/cache-mode; the default is all.

`--one-each` selects one fixture per function.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.builders.event_fixtures import EVENTS, EventFixture, decoded, matches, read_fixtures
from tests.deployment import sam
from tests.deployment.docker import DockerUnavailable
from tests.deployment.emulator import Emulator
from tests.deployment.template import folders_of_functions

from .account import invocation_environment
from .docker import bridge_address, image_for

DUMP = EVENTS / "cluster.yaml"
PORT = 45660
WORKERS = 2

ONE_EACH = (
    "authorizer/basic",
    "bind/waiting-pod",
    "filter/cache-mode",
    "filter_onlyone/cache-mode",
    "healthz/published",
    "preempt/cache-mode",
    "prioritize/cache-mode",
    "watcher/scheduled",
)


@dataclass(frozen=True)
class Result:
    """The response to a fixture. `seconds`: the time of the whole command with its container."""

    fixture: EventFixture
    answer: dict[str, Any]
    seconds: float

    @property
    def passed(self) -> bool:
        return matches(self.fixture.expected, self.answer)

    def __str__(self) -> str:
        if self.passed:
            return f"ok      {self.fixture.name} ({self.seconds:.1f} s)"
        expected, answer = json.dumps(self.fixture.expected), json.dumps(self.answer)
        return f"FAILED  {self.fixture.name}\n  expected {expected}\n  got      {answer}"


def main(arguments: list[str]) -> int:
    """Return the exit status: 1 if a response differs from the expected one, or if no fixture was selected."""
    names = ONE_EACH if arguments == ["--one-each"] else arguments
    selected = [fixture for fixture in read_fixtures() if not names or fixture.name in names]
    failed = 0
    try:
        with _sam_local() as invoke, ThreadPoolExecutor(WORKERS) as pool:
            for result in pool.map(invoke, selected):
                print(result, flush=True)
                failed += not result.passed
    except DockerUnavailable as error:
        return _without_docker(error)
    print(f"{len(selected) - failed} passed, {failed} failed")
    return 1 if failed or not selected else 0


@contextmanager
def _sam_local() -> Iterator[Callable[[EventFixture], Result]]:
    """Build the stack, and yield a function that invokes the function of a fixture."""
    host = bridge_address()
    machine = sam.Machine.this()
    logical_ids = {folder: logical_id for logical_id, folder in folders_of_functions().items()}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with Emulator(directory / "account", host=host, port=PORT) as emulator:
            image = image_for(machine.base_image, emulator.endpoint_url)
            template = sam.build(directory / "build", machine)

            def invoke(fixture: EventFixture) -> Result:
                with invocation_environment(
                    emulator, DUMP, directory, host, needs_password=fixture.needs_password
                ) as variables:
                    started = time.monotonic()
                    try:
                        answer = decoded(
                            json.loads(
                                sam.local_invoke(
                                    logical_ids[fixture.function],
                                    EVENTS / f"{fixture.name}.json",
                                    template=template,
                                    machine=machine,
                                    image=image,
                                    variables=variables,
                                    environment=emulator.environment(),
                                )
                            )
                        )
                    except sam.SamFailed as error:
                        answer = {"sam": str(error)}
                    return Result(fixture, answer, time.monotonic() - started)

            yield invoke


def _without_docker(error: DockerUnavailable) -> int:
    """Handle missing Docker: the check is skipped in CI, and fails otherwise."""
    if os.environ.get("CI") == "true":
        print(f"sam-local: skipped without Docker: {error}")
        return 0
    print(f"sam-local: {error}\nStart Docker, or run the same events without containers: make test", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
