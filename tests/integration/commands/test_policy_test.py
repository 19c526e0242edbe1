"""`berth policy test` from the command line."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner, Result

from berth_cli.main import main
from tests.conftest import PROJECT

EXAMPLE = PROJECT / "examples" / "policy-ci"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["policy", "test", *arguments], prog_name="berth")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return a copy of the example with a policy that violates its cases."""
    folder = tmp_path / "policy-ci"
    copytree(EXAMPLE, folder)
    (folder / "berth.yaml").write_bytes((EXAMPLE / "proposed.yaml").read_bytes())
    return folder


def test_cases_of_the_example_pass() -> None:
    done = run(str(EXAMPLE))
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "3 cases: 3 passed, 0 failed")


def test_policy_that_violates_an_expectation_fails(broken: Path) -> None:
    done = run(str(broken))
    assert done.exit_code == 1
    assert done.stdout.splitlines()[1:4] == [
        f"FAIL  {broken}/cases/gpus.yaml:22  other pods use GPU nodes only when all others are full",
        "      default/web-2: expected node gpu-1, found no node: 0/2 nodes are available: 1 Insufficient cpu, "
        "1 node(s) were reserved for pods that ask for their resources.",
        "        gpu-1: ResourceSegregation: node(s) were reserved for pods that ask for their resources",
    ]
