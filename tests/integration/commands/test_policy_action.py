"""The GitHub Action in action.yml: its steps run as the runner runs them, with GitHub's API on loopback.

`make dist` runs the step that installs the command: it fetches packages.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from tests.conftest import PROJECT
from tests.fakes.github import REPOSITORY, TOKEN, FakeGitHub, fake_github
from tests.unit.cli.simulate.what_if.objects import gang, node

# Each run starts a process that imports the command.
pytestmark = pytest.mark.long

ACTION = yaml.safe_load((PROJECT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXAMPLE = PROJECT / "examples" / "policy-ci"
_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")


@dataclass(slots=True)
class Run:
    """What a run of the action leaves."""

    status: int = 0
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


RunAction = Callable[..., Run]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with fake_github() as server:
        yield server


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The checkout of a pull request that makes the policy of the example stricter."""
    folder = tmp_path / "checkout"
    copytree(EXAMPLE, folder)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "base")
    (folder / "berth.yaml").write_bytes((folder / "proposed.yaml").read_bytes())
    return folder


@pytest.fixture
def run_action(tmp_path: Path, repository: Path, github: FakeGitHub) -> RunAction:
    """Runs the steps that have a script, but for the installation: the command is this environment's."""
    commands = tmp_path / "temp" / "berth" / "bin"
    commands.mkdir(parents=True)
    for name, arguments in (("python", ""), ("berth", " -P -c 'from berth_cli.main import main; main()'")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (commands / name).chmod(0o755)
    base = git(repository, "rev-parse", "HEAD")

    def run(event: Mapping[str, object] | None = None, **inputs: str) -> Run:
        pull_request = {"pull_request": {"number": 7, "base": {"sha": base}}}
        files = {name: tmp_path / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        (tmp_path / "event.json").write_text(json.dumps(pull_request if event is None else event))
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "GITHUB_API_URL": github.address,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_REPOSITORY": REPOSITORY,
            "RUNNER_TEMP": str(tmp_path / "temp"),
            **{name: str(file) for name, file in files.items()},
        }
        values = inputs_of({"policy": "berth.yaml", "dump": "dump.yaml"} | inputs)
        result = Run()
        for step in STEPS:
            if "run" in step and step["name"] != "Install Berth" and is_run(step, values):
                _run_step(step, values, environment, repository, tmp_path, result)
        result.summary = files["GITHUB_STEP_SUMMARY"].read_text()
        result.outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        return result

    return run


def _run_step(
    step: Mapping[str, Any],
    values: Mapping[str, str],
    environment: Mapping[str, str],
    folder: Path,
    temporary: Path,
    result: Run,
) -> None:
    """As the runner runs a step with `shell: bash`. The first step that fails gives the status."""
    script = temporary / "step.sh"
    script.write_text(evaluated(step["run"], values))
    own = {name: evaluated(value, values) for name, value in step.get("env", {}).items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env={**environment, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    result.log += done.stdout + done.stderr
    result.status = result.status or done.returncode


def inputs_of(given: Mapping[str, str]) -> dict[str, str]:
    """The inputs with their defaults, by expression."""
    assert given.keys() <= ACTION["inputs"].keys()
    values = {"github.token": TOKEN}
    for name, field_ in ACTION["inputs"].items():
        values[f"inputs.{name}"] = given.get(name, evaluated(field_.get("default", ""), values))
    return values


def evaluated(text: str, values: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: values[found[1]], text)


def is_run(step: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    """Whether the step's condition holds; the action has one condition."""
    condition = step.get("if")
    assert condition in (None, "${{ !cancelled() && inputs.tests != '' }}")
    return condition is None or values["inputs.tests"] != ""


# -------------------------------------------------------------------------------------------------------------- results
def test_comments_the_difference_and_fails_beyond_the_limits(run_action: RunAction, github: FakeGitHub) -> None:
    done = run_action()
    assert (done.status, done.outputs) == (1, {"newly-pending": "2", "moved": "1"})
    [body] = github.comments.values()
    lines = body.splitlines()
    assert lines[:4] == [
        "<!-- berth policy diff: berth.yaml -->",
        "### Berth policy `berth.yaml`",
        "",
        "**2 newly pending, 1 moved, 0 newly placed** (dump.yaml: 11 pods placed again, from empty nodes)",
    ]
    assert "Limit exceeded: 2 of 11 pods newly pending, at most 0 allowed." in lines
    assert done.summary.strip() == "\n".join(lines[1:])


def test_a_second_run_changes_the_comment(run_action: RunAction, github: FakeGitHub, repository: Path) -> None:
    run_action()
    git(repository, "checkout", "--quiet", "berth.yaml")
    assert run_action().status == 0
    [body] = github.comments.values()
    assert "**0 newly pending, 0 moved, 0 newly placed**" in body


def test_limits_are_inputs(run_action: RunAction) -> None:
    assert run_action(**{"max-pending": "20%", "max-moved": "1"}).status == 0


def test_runs_the_cases_too_and_fails_with_them(run_action: RunAction) -> None:
    done = run_action(tests="cases", **{"max-pending": ""})
    assert done.status == 1
    assert "3 cases: 2 passed, 1 failed" in done.log


def test_a_first_policy_is_compared_with_kube_scheduler_alone(
    run_action: RunAction, github: FakeGitHub, repository: Path
) -> None:
    (repository / "first.yaml").write_bytes((repository / "proposed.yaml").read_bytes())
    assert run_action(policy="first.yaml").status == 1
    assert "The base has no such policy. BEFORE is kube-scheduler alone." in github.comments[1].splitlines()


def test_a_policy_that_enables_gangs_leaves_no_gang_pending_that_has_room(
    run_action: RunAction, repository: Path
) -> None:
    (repository / "gangs.json").write_text(json.dumps({"kind": "List", "items": [node("a"), node("b"), *gang(2)]}))
    (repository / "berth.yaml").write_text("profile: full\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "full")
    (repository / "berth.yaml").write_text("profile: full\ngangs: {enabled: true}\n")
    done = run_action(dump="gangs.json", base="HEAD")
    assert (done.status, done.outputs) == (0, {"newly-pending": "0", "moved": "0"})


# ------------------------------------------------------------------------------------------------------- what can fail
def test_a_refused_comment_is_a_warning(run_action: RunAction, github: FakeGitHub) -> None:
    github.refuses = {"POST"}
    done = run_action(**{"max-pending": ""})
    assert done.status == 0
    assert "::warning::no comment on the pull request: status 403: Resource not accessible by integration" in done.log
    assert "**2 newly pending" in done.summary


def test_no_comment_is_made_where_none_is_wanted(run_action: RunAction, github: FakeGitHub) -> None:
    assert "newly pending" in run_action(comment="false").summary
    assert github.requests == []


def test_an_invalid_policy_is_an_error_of_the_run_and_in_the_comment(
    run_action: RunAction, github: FakeGitHub, repository: Path
) -> None:
    (repository / "berth.yaml").write_text("profil: x\n")
    done = run_action()
    assert done.status == 2
    assert "::error::berth.yaml:1: profil: unknown field" in done.log
    assert "    berth.yaml:1: profil: unknown field" in github.comments[1]


def test_another_event_needs_a_base_and_gets_no_comment(run_action: RunAction, github: FakeGitHub) -> None:
    assert "give the input base" in run_action(event={}).log
    assert run_action(event={}, base="HEAD").status == 1
    assert github.requests == []


def test_a_module_of_the_pull_request_is_not_imported(run_action: RunAction, repository: Path) -> None:
    for name in ("berth_cli", "yaml", "orjson"):
        (repository / f"{name}.py").write_text("raise SystemExit('imported from the pull request')")
    done = run_action(tests="cases")
    assert "imported from the pull request" not in done.log
    assert done.outputs["moved"] == "1"


# ------------------------------------------------------------------------------------------------------------ its files
def test_installs_what_the_repository_locks() -> None:
    """The package itself is built by what is locked, and not by what pip would fetch for an isolated build."""
    [install] = [step for step in STEPS if step.get("name") == "Install Berth"]
    locked, package = re.findall(r" install (.*)", install["run"].replace("\\\n", ""))
    assert "--require-hashes" in locked
    assert {"--no-deps", "--no-build-isolation"} <= set(package.split())
    files = [PROJECT / name for name in re.findall(r"\$ACTION/([\w./]+)", locked)]
    assert [file.name for file in files] == ["cli.txt", "build.txt"]
    backend = tomllib.loads((PROJECT / "pyproject.toml").read_text())["build-system"]["requires"]
    names = [re.match(r"[\w-]+", each)[0] for each in backend]  # type: ignore[index]
    assert all(re.search(rf"^{name}==", files[1].read_text(), re.MULTILINE) for name in names)


def test_no_script_contains_an_expression() -> None:
    """An input inside a script would be part of the script: whoever chooses it would run commands."""
    assert [step["name"] for step in STEPS if "${{" in step.get("run", "")] == []
