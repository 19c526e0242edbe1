"""`make local-stack` as a newcomer uses it: start, call, apply a rule of one's own, change it, roll back, check, stop.
And with a live cluster.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import urllib3
import yaml

from tests.builders.event_fixtures import EVENTS
from tests.deployment import sam

from .berth.berth_serve import COMMAND
from .berth.identities import identities
from .berth.label_priority import priority
from .kubernetes.child_process import ChildProcess
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.loopback import free_port
from .misconfigured.doctor import berth_doctor

EXAMPLES = sam.PROJECT / "examples"
START_SECONDS = 600
FIRST_CALL_SECONDS = 60
"""It starts a process on this machine."""


def command(directory: Path) -> list[str]:
    return [sys.executable, "-m", "tools.local_stack", f"--directory={directory}"]


def variables(directory: Path) -> dict[str, str]:
    """Of the file that a shell reads."""
    words = (shlex.split(line) for line in (directory / "environment").read_text().splitlines())
    return dict(word.split("=", 1) for _, word in words)


def filter_answer(environment: Mapping[str, str]) -> Any:
    """What filter answers to the body of an event."""
    answer = urllib3.request(
        "POST",
        f"{environment['BERTH_URL']}/filter",
        body=(EVENTS / "filter" / "cache-mode.body.json").read_bytes(),
        headers={"Content-Type": "application/json", **urllib3.make_headers(basic_auth=environment["BERTH_USER"])},
        timeout=FIRST_CALL_SECONDS,
    )
    return orjson.loads(answer.data)


def config(environment: Mapping[str, str], *arguments: str | Path) -> Any:
    """The result of `berth config`."""
    words = [COMMAND, "config", *arguments, f"--stack={sam.STACK_NAME}", "-o", "json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return orjson.loads(done.stdout)


def versions_of_changed_plugins(
    directory: Path, environment: Mapping[str, str], plugins: Path, changed: Path
) -> tuple[str, str]:
    """Of the plugins that the functions have, before and after a change of their code."""

    def loaded(path: Path) -> str:
        applied = config(environment, "apply", path / "configuration.yaml", f"--plugins={path}", "--no-wait")
        version: str = applied["trial"]["pluginVersion"]
        return version

    before = loaded(plugins)
    shutil.copytree(plugins, changed)
    with (changed / "berth_plugins" / "one_per_team.py").open("a") as module:
        module.write("# changed\n")
    replaced = [*command(directory), "--replace-plugins", f"--plugins={changed}"]
    done = subprocess.run(replaced, cwd=sam.PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return before, loaded(changed)


@pytest.mark.stack
def test_local_stack_answers_and_is_sound_until_it_is_stopped(tmp_path: Path) -> None:
    directory, log = tmp_path / "local-stack", tmp_path / "log"
    plugins = EXAMPLES / "custom-plugin"
    process = ChildProcess([*command(directory), f"--port={free_port()}", f"--plugins={plugins}"], log)
    try:
        process.wait_until(lambda: "Ctrl-C stops it" in log.read_text(), seconds=START_SECONDS)
        found = variables(directory)
        expected = orjson.loads((EVENTS / "filter" / "cache-mode.expected.json").read_bytes())["body"]
        assert filter_answer(found) == expected

        first = tmp_path / "first.yaml"
        first.write_text("profile: label-priority\n")
        assert config(found, "apply", first)["applied"]
        assert config(found, "apply", plugins / "configuration.yaml", f"--plugins={plugins}")["applied"]
        assert filter_answer(found)["NodeNames"] == ["n10", "n20", "plain", "worded"]  # no node belongs to a team
        assert config(found, "rollback")["profile"] == "label-priority"
        assert filter_answer(found) == expected

        before, after = versions_of_changed_plugins(directory, found, plugins, tmp_path / "changed")
        assert before
        assert after not in (before, "")
        assert config(found, "rollback")["profile"] == "label-priority"

        diagnosis = berth_doctor(
            f"--stack={sam.STACK_NAME}",
            f"--url={found['BERTH_URL']}",
            f"--scheduler-config={directory / 'scheduler.yaml'}",
            "--timeout=30",
            environment=found,
        )
        assert diagnosis.exit_status == 0, diagnosis.findings

        second = subprocess.run(command(directory), cwd=sam.PROJECT, capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "make local-stack-stop" in second.stderr

        stopped = subprocess.run([*command(directory), "--stop"], cwd=sam.PROJECT, capture_output=True, check=True)
        assert stopped.stdout == b"stopped\n"
        assert process.wait() == 0, log.read_text()
    finally:
        process.stop()


@pytest.mark.stack
def test_local_stack_serves_a_live_cluster(control_plane: ControlPlane, cluster: Cluster, tmp_path: Path) -> None:
    """With a kubeconfig of one user, and the scheduler's configuration as it is written."""
    identities(control_plane)
    directory, log = tmp_path / "local-stack", tmp_path / "log"
    kubeconfig = control_plane.kubeconfig()
    node = cluster.create_node("node", priority(10))
    process = ChildProcess([*command(directory), f"--port={free_port()}", f"--kubeconfig={kubeconfig}"], log)
    try:
        process.wait_until(lambda: "Ctrl-C stops it" in log.read_text(), seconds=START_SECONDS)
        scheduler = yaml.safe_load((directory / "scheduler.yaml").read_text())
        assert scheduler["clientConnection"]["kubeconfig"] == str(kubeconfig)
        with control_plane.scheduler({**scheduler, "leaderElection": {"leaderElect": False}}):
            assert cluster.wait_until_assigned(cluster.create_pod("pod")) == node
    finally:
        process.stop()
