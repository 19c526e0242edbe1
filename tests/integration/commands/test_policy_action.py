"""The GitHub Action in action.yml: its steps run as the runner runs them, with a `gh` that keeps comments in files.

The tests skip the step that installs the command, because it fetches packages: `make dist` runs this step.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from tests.conftest import PROJECT

# Each run starts a process that imports the command.
pytestmark = pytest.mark.long

ACTION = yaml.safe_load((PROJECT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXAMPLE = PROJECT / "examples" / "policy-ci"
_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
REPOSITORY, TOKEN = "octo/policies", "secret"
GH = f"""\
#!{sys.executable}
# A `gh api` that knows the comments of one pull request. It keeps them in a file.
import json, os, sys
from pathlib import Path

folder = Path(os.environ["HOME"])
arguments = sys.argv[1:]
method = arguments[arguments.index("--method") + 1] if "--method" in arguments else "GET"
[path] = [each for each in arguments if each.startswith("repos/")]
assert os.environ["GH_TOKEN"] == "{TOKEN}"
comments = json.loads((folder / "comments.json").read_text())
if method == "GET":
    assert arguments[arguments.index("--jq") + 1] == ".[] | select(.body | startswith(env.MARKER)) | .id"
    print(*[key for key, body in comments.items() if body.startswith(os.environ["MARKER"])], sep="\\n")
else:
    [body] = [each.removeprefix("body=@") for each in arguments if each.startswith("body=@")]
    number = path.rpartition("/")[2] if method == "PATCH" else str(len(comments) + 1)
    comments[number] = Path(body).read_text()
    (folder / "comments.json").write_text(json.dumps(comments))
"""


@dataclass(slots=True)
class Run:
    """The results of a run of the action."""

    status: int = 0
    log: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class GitHub:
    folder: Path

    @property
    def comments(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.folder / "comments.json").read_text())
        return found


RunAction = Callable[..., Run]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def github(tmp_path: Path) -> GitHub:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    (tmp_path / "comments.json").write_text("{}")
    return GitHub(tmp_path)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return the checkout of a pull request that makes the policy of the example stricter."""
    folder = tmp_path / "checkout"
    copytree(EXAMPLE, folder)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "base")
    (folder / "berth.yaml").write_bytes((folder / "proposed.yaml").read_bytes())
    return folder


@pytest.fixture
def run_action(tmp_path: Path, repository: Path, github: GitHub) -> RunAction:
    """Return a function that runs the scripts of all steps except the installation, with this environment's `berth`."""
    commands = tmp_path / "temp" / "berth" / "bin"
    commands.mkdir(parents=True)
    (commands / "berth").write_text(
        f"""#!/bin/sh\nexec "{sys.executable}" -P -c 'from berth_cli.main import main; main()' "$@"\n"""
    )
    (commands / "berth").chmod(0o755)
    base = git(repository, "rev-parse", "HEAD")

    def run(**inputs: str) -> Run:
        summary = tmp_path / "summary.md"
        summary.write_text("")
        environment = {
            "PATH": f"{github.folder}/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(tmp_path / "temp"),
        }
        values = inputs_of({"policy": "berth.yaml", "dump": "dump.yaml"} | inputs)
        values["inputs.base || github.event.pull_request.base.sha"] = values["inputs.base"] or base
        values["github.event.pull_request.number"] = "7"
        result = Run()
        for step in STEPS:
            if "run" in step and step["name"] != "Install Berth" and is_run(step, values):
                _run_step(step, values, environment, repository, tmp_path, result)
        result.summary = summary.read_text()
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
    """Run a step as the runner does with `shell: bash`. The first step that fails sets the status."""
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
    assert given.keys() <= ACTION["inputs"].keys()
    values = {"github.token": TOKEN}
    for name, field_ in ACTION["inputs"].items():
        values[f"inputs.{name}"] = given.get(name, evaluated(field_.get("default", ""), values))
    return values


def evaluated(text: str, values: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: values[found[1]], text)


def is_run(step: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    holds = {
        None: True,
        "${{ !cancelled() && inputs.tests != '' }}": values["inputs.tests"] != "",
        "${{ !cancelled() && inputs.comment == 'true' && github.event.pull_request }}": values["inputs.comment"]
        == "true",
    }
    return holds[step.get("if")]


def test_comments_on_the_pull_request_and_fails_if_a_limit_is_exceeded(run_action: RunAction, github: GitHub) -> None:
    done = run_action()
    assert done.status == 1
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


def test_invalid_policy_fails_the_job_and_is_reported_in_a_comment(
    run_action: RunAction, github: GitHub, repository: Path
) -> None:
    (repository / "berth.yaml").write_text("profil: x\n")
    done = run_action()
    assert done.status == 2
    assert "Error: berth.yaml:1: profil: unknown field" in done.log
    assert "    Error: berth.yaml:1: profil: unknown field" in github.comments["1"]


def test_does_not_import_a_module_of_the_pull_request(run_action: RunAction, repository: Path) -> None:
    for name in ("berth_cli", "yaml", "orjson"):
        (repository / f"{name}.py").write_text("raise SystemExit('imported from the pull request')")
    done = run_action(tests="cases")
    assert "imported from the pull request" not in done.log
    assert "1 moved" in done.summary


def test_installs_the_versions_locked_by_the_repository() -> None:
    """The package is built with locked tools, not with those that pip would fetch for an isolated build."""
    [install] = [step for step in STEPS if step.get("name") == "Install Berth"]
    locked, package = re.findall(r" install (.*)", install["run"].replace("\\\n", ""))
    assert "--require-hashes" in locked
    assert {"--no-deps", "--no-build-isolation"} <= set(package.split())
    files = [PROJECT / name for name in re.findall(r"\$ACTION/([\w./]+)", locked)]
    assert [file.name for file in files] == ["cli.txt", "build.txt"]
    backend = tomllib.loads((PROJECT / "pyproject.toml").read_text())["build-system"]["requires"]
    names = [re.match(r"[\w-]+", each)[0] for each in backend]  # type: ignore[index]
    assert all(re.search(rf"^{name}==", files[1].read_text(), re.MULTILINE) for name in names)


def test_scripts_of_the_action_do_not_contain_github_expressions() -> None:
    """An input inside a script would become part of the script, so the author of the input could run commands."""
    assert [step["name"] for step in STEPS if "${{" in step.get("run", "")] == []
