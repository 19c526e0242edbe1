"""What the make targets of the local stack make of their variables: read without running anything."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.sam import PROJECT
from tools.local_stack.__main__ import main

MODULE = "tools.local_stack"


def arguments(target: str, *variables: str) -> list[str]:
    """Of the command that this make target would run."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "--dry-run", target, *variables],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    words = shlex.split(done.stdout.replace("\\\n", " ").splitlines()[-1])
    return words[words.index(MODULE) + 1 :]


def parsed(words: list[str]) -> dict[str, Any]:
    """As the command reads them; those that were not given are left out."""
    context = main.make_context("local-stack", words)
    given = {name: value for name, value in context.params.items() if value}
    context.close()
    return {name: value for name, value in given.items() if name != "directory"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A dump, a kubeconfig and plugins, in a directory whose name has a blank."""
    found = tmp_path / "my files"
    (found / "plugins").mkdir(parents=True)
    for name in ("dump.json", "kind.kubeconfig"):
        (found / name).touch()
    return found


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        pytest.param((), {"port": 4566}, id="the example's cluster"),
        pytest.param(("PORT=14566",), {"port": 14566}, id="another port"),
        pytest.param(("CLUSTER={files}/dump.json",), {"cluster": "dump.json"}, id="a dump"),
        pytest.param(("KUBECONFIG_FILE={files}/kind.kubeconfig",), {"kubeconfig": "kind.kubeconfig"}, id="a cluster"),
        pytest.param(("PLUGINS={files}/plugins",), {"plugins": "plugins"}, id="plugins"),
        pytest.param(
            ("PARAMETERS=Profile=full ClusterSize=small",),
            {"parameters": ("Profile=full", "ClusterSize=small")},
            id="parameters of the template",
        ),
    ],
)
def test_local_stack(variables: tuple[str, ...], wanted: dict[str, object], files: Path) -> None:
    found = parsed(arguments("local-stack", *(each.format(files=files) for each in variables)))
    paths = {name: files / str(value) for name, value in wanted.items() if name in ("cluster", "kubeconfig", "plugins")}
    assert found == {"port": 4566, **wanted, **paths}


def test_local_stack_as_the_page_about_a_rule_starts_it(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/e2e/test_local_stack.py starts it with these options."""
    page = (PROJECT / "docs" / "how-to" / "local-stack.md").read_text()
    [line] = re.findall(r"^\$ make local-stack (PLUGINS=\S+ CLUSTER=.*)$", page, re.MULTILINE)
    own = files / "my-plugins"
    own.mkdir()
    (own / "cluster.yaml").touch()
    monkeypatch.chdir(files)
    wanted = {"plugins": own.name, "cluster": f"{own.name}/cluster.yaml"}
    found = parsed(arguments("local-stack", *shlex.split(line)))
    assert found == {"port": 4566, "parameters": ("Profile=resource-segregation",)} | {
        name: Path(path) for name, path in wanted.items()
    }


def test_local_stack_does_not_use_the_kubeconfig_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that bind would change has to be named."""
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/production")
    assert parsed(arguments("local-stack")) == {"port": 4566}


@pytest.mark.parametrize(
    ("target", "variables", "wanted"),
    [
        pytest.param("local-stack-stop", (), {"stop": True}, id="stop"),
        pytest.param(
            "local-stack-plugins",
            ("PLUGINS={files}/plugins",),
            {"replace_plugins": True, "plugins": "plugins"},
            id="change",
        ),
        pytest.param("local-stack-plugins", (), {"replace_plugins": True}, id="change, without saying to what"),
    ],
)
def test_of_another_terminal(target: str, variables: tuple[str, ...], wanted: dict[str, object], files: Path) -> None:
    found = parsed(arguments(target, *(each.format(files=files) for each in variables)))
    paths = {"plugins": files / "plugins"} if "plugins" in wanted else {}
    assert found == {"port": 4566, **wanted, **paths}
