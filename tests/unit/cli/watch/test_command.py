"""The options of `berth watch`."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from berth_cli.main import main


def test_says_how_a_missing_kubeconfig_is_made(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    done = CliRunner().invoke(main, ["watch", "--stack", "berth", "--kubeconfig", str(absent)])
    assert done.exit_code == 1
    assert done.stderr == (
        f"Error: {absent} is not a file; make a kubeconfig with: kubectl config view --raw --minify > FILE\n"
    )
