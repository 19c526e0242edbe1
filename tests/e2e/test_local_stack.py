"""`make local-stack` as a newcomer uses it: start, call, apply a rule, break it, roll back, check, stop."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import boto3
import orjson
import pytest
import urllib3

from tests.builders.event_fixtures import EVENTS
from tests.deployment import sam

from .berth.berth_serve import COMMAND
from .berth.doctor import Diagnosis, berth_doctor
from .kubernetes.child_process import ChildProcess
from .kubernetes.loopback import free_port

EXAMPLES = sam.PROJECT / "examples"
START_SECONDS = 600
FIRST_CALL_SECONDS = 60
"""Limit in seconds for a first call, which starts a process on this machine."""


def command(directory: Path) -> list[str]:
    return [sys.executable, "-m", "tools.local_stack", f"--directory={directory}"]


def variables(directory: Path) -> dict[str, str]:
    words = (shlex.split(line) for line in (directory / "environment").read_text().splitlines())
    return dict(word.split("=", 1) for _, word in words)


def call(environment: Mapping[str, str], path: str, body: bytes | None = None) -> Any:
    """Call the stack with its credentials, and return the answer."""
    answer = urllib3.request(
        "GET" if body is None else "POST",
        f"{environment['BERTH_URL'].removesuffix('/scheduler')}/{path}",
        body=body,
        headers={"Content-Type": "application/json", **urllib3.make_headers(basic_auth=environment["BERTH_USER"])},
        timeout=FIRST_CALL_SECONDS,
    )
    return orjson.loads(answer.data)


def filter_answer(environment: Mapping[str, str]) -> Any:
    """Return filter's response to the body of an event. After a deployment a cold start may exceed its time limit."""
    body = (EVENTS / "filter" / "cache-mode.body.json").read_bytes()
    until = time.monotonic() + FIRST_CALL_SECONDS
    while True:
        answer = call(environment, "scheduler/filter", body)
        if not (answer["Error"] or "").startswith("the deadline passed") or time.monotonic() > until:
            return answer


def config(environment: Mapping[str, str], *arguments: str | Path, fails: str = "") -> str:
    """Return the output of `berth config`. fails: text of the error, if the command must fail."""
    words = [COMMAND, "config", *arguments, f"--stack={sam.STACK_NAME}"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, fails in done.stderr) == (1 if fails else 0, True), done.stderr
    return done.stdout


def plugin_version(applied: str) -> str:
    """Return the version of the plugins in the printed trial."""
    return next(line.removeprefix("plugins: ") for line in applied.splitlines() if line.startswith("plugins: "))


@dataclass(frozen=True)
class OwnPlugins:
    """A user's directory with plugins, and the stack that runs with them."""

    directory: Path
    stack: Path

    @classmethod
    def written(cls, directory: Path, stack: Path) -> Self:
        shutil.copytree(EXAMPLES / "custom-plugin", directory)
        return cls(directory, stack)

    @property
    def configuration(self) -> Path:
        return self.directory / "configuration.yaml"

    def deploy(self, more: str = "") -> None:
        """Deploy the example's plugin with one more line, which may break the plugin as the how-to page does."""
        module = Path("berth_plugins") / "team_nodes.py"
        (self.directory / module).write_text(f"{(EXAMPLES / 'custom-plugin' / module).read_text()}{more}\n")
        words = [*command(self.stack), "--replace-plugins", f"--plugins={self.directory}"]
        done = subprocess.run(words, cwd=sam.PROJECT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def doctor(environment: Mapping[str, str], *options: str | Path) -> Diagnosis:
    # On a busy machine the first calls after a deployment take long, because they start every function.
    words = (f"--stack={sam.STACK_NAME}", f"--url={environment['BERTH_URL']}", "--timeout=120")
    return berth_doctor(*words, *options, environment=environment)


def failed(diagnosis: Diagnosis) -> list[str]:
    return [each.check for each in diagnosis.findings if each.result == "failed"]


@contextmanager
def local_stack(directory: Path, *options: str) -> Iterator[ChildProcess]:
    """Run a local stack until the context exits, and wait until it is ready. Its output is in `directory`.log."""
    log = directory.with_suffix(".log")
    process = ChildProcess([*command(directory), f"--port={free_port()}", *options], log)
    try:
        process.wait_until(lambda: "Ctrl-C stops it" in log.read_text(), seconds=START_SECONDS)
        yield process
    finally:
        process.stop()


def logged(environment: Mapping[str, str]) -> str:
    session = boto3.Session(
        environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"], region_name=environment["AWS_REGION"]
    )
    logs = session.client("logs", endpoint_url=environment["AWS_ENDPOINT_URL"])
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{sam.STACK_NAME}-functions")
    return "\n".join(event["message"] for page in pages for event in page["events"])


EVERY_NODE = ["n10", "n20", "plain", "worded"]
"""All nodes of events/cluster.yaml: none belongs to a team."""


@pytest.mark.stack
def test_custom_rule_can_be_applied_and_a_broken_rule_rolled_back(tmp_path: Path) -> None:
    """Follows docs/how-to/local-stack.md, on the cluster of the events."""
    directory = tmp_path / "local-stack"
    own = OwnPlugins.written(tmp_path / "my-plugins", directory)
    plugins, scheduler = f"--plugins={own.directory}", f"--scheduler-config={directory / 'scheduler.yaml'}"
    with local_stack(directory, plugins) as process:
        found = variables(directory)
        expected = orjson.loads((EVENTS / "filter" / "cache-mode.expected.json").read_bytes())["body"]
        assert filter_answer(found) == expected

        # This is the first applied document, so only the deployed configuration precedes it.
        before = plugin_version(config(found, "apply", own.configuration, plugins))
        assert filter_answer(found)["NodeNames"] == EVERY_NODE

        own.deploy("TeamNodes.__init__ = lambda self, args: 1 / 0")
        assert filter_answer(found) == expected
        fallback = call(found, "healthz")["configurationFallback"]
        assert "TeamNodes failed in __init__: ZeroDivisionError: division by zero (team_nodes.py, line" in fallback
        assert "the deployed configuration is used instead" in fallback
        diagnosis = doctor(found, scheduler, plugins)
        assert failed(diagnosis) == ["configuration"], diagnosis.bad
        assert '"Failures":[1.0]' in logged(found).replace(" ", "")

        assert "profile label-priority" in config(found, "rollback")
        assert "configurationFallback" not in call(found, "healthz")
        diagnosis = doctor(found, scheduler)
        assert diagnosis.exit_status == 0, diagnosis.findings

        own.deploy("TeamNodes.filter = lambda self, pod, node: 1 / 0")
        config(found, "apply", own.configuration, plugins, fails="failed in filter on node n10: ZeroDivisionError")
        assert filter_answer(found) == expected

        own.deploy("# mended")
        after = plugin_version(config(found, "apply", own.configuration, plugins, "--no-wait"))
        assert after not in (before, "")
        assert filter_answer(found)["NodeNames"] == EVERY_NODE

        second = subprocess.run(command(directory), cwd=sam.PROJECT, capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "stop it with Ctrl-C" in second.stderr
        assert process.stop() == 0
