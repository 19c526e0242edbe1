"""What a target takes is given to make: a variable of the caller's shell with the same name is not meant."""

from __future__ import annotations

import os
import re
import subprocess

from tests.conftest import PROJECT
from tools.lanes.steps import STEPS, Lane

MAKEFILE = (PROJECT / "Makefile").read_text()
MAKE_S_OWN = {"CURDIR", "MAKE", "MAKEFILE_LIST"}


def names() -> set[str]:
    """Variables that the Makefile reads and does not set."""
    return set(re.findall(r"\$\(([A-Z_]+)\)", MAKEFILE)) - set(re.findall(r"^([A-Z_]+) *[:?]?=", MAKEFILE, re.M))


def commands(*arguments: str, **environment: str) -> str:
    """What make would run."""
    done = subprocess.run(
        ["make", "--dry-run", "--keep-going", *arguments],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_no_target_takes_a_value_from_the_shell() -> None:
    targets = re.findall(r"^([a-z][a-z0-9-]*):", MAKEFILE, re.M)
    exported = dict.fromkeys(names() - MAKE_S_OWN, "from-the-shell")
    found = commands(*targets, **exported)
    assert "-m tools.acceptance" in found
    assert [line for line in found.splitlines() if "from-the-shell" in line] == []


def test_acceptance_uses_no_kubeconfig_that_was_only_exported() -> None:
    assert "--kubeconfig" not in commands("acceptance", "STACK=trial", KUBECONFIG="production")
    assert "--kubeconfig 'mine'" in commands("acceptance", "STACK=trial", "KUBECONFIG=mine", KUBECONFIG="other")


def test_a_release_takes_its_tag_from_the_workflow() -> None:
    tag = "from-the-workflow"
    done = subprocess.run(
        ["make", "release-version"],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], "TAG": tag},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"TAG={tag}, but the package is" in done.stderr


def test_nightly_that_continues_from_a_step_measures_the_scheduler_anew() -> None:
    [step] = [each for each in STEPS if each.target == "bench-scheduler"]
    nightly = step.command(Lane.NIGHTLY)
    assert nightly is not None
    assert "--from" not in commands(*nightly, MAKEFLAGS=" -- FROM=e2e")
