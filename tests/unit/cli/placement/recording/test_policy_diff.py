"""`berth policy diff --recording`: an exact replay, limits, and fields that a recording lacks."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from berth_cli.main import main
from tests.unit.cli.placement.recording.recorded import recording
from tests.unit.cli.placement.recording.test_replay import LABELLED, two_nodes


def diff(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["policy", "diff", *arguments, "--recording", "r"], prog_name="berth")


def test_differing_decision_is_reported_with_exit_status_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recording(Path("whole"), two_nodes, LABELLED)
    lines = gzip.decompress(Path("whole").read_bytes()).replace(b'"outcome":"feasible"', b'"outcome":"other"')
    digest = re.findall(rb'"digest":"(\w+)"', lines)[0]
    Path("r").write_bytes(gzip.compress(lines.replace(digest, b"another")))
    Path("berth.yaml").write_text("profile: label-priority\n")
    done = diff("berth.yaml", "berth.yaml")
    assert done.exit_code == 1
    assert done.stdout.startswith("warning: 1 of 2 decisions of the old policy are not the same again")


def test_truncated_recording_is_compared_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recording(Path("r"), two_nodes, LABELLED)
    Path("r").write_bytes(Path("r").read_bytes()[:-8])  # gzip's last eight bytes are checksum and length
    Path("berth.yaml").write_text("profile: label-priority\n")
    done = diff("berth.yaml", "berth.yaml")
    assert (done.exit_code, done.stderr) == (
        0,
        "warning: the recording ends in the middle: its process was killed; what is there was replayed\n",
    )
    assert "2 decisions of the old policy made again, 0 differ" in done.stdout


def test_limits_are_not_checked_if_the_policy_reads_unrecorded_fields(tmp_path: Path) -> None:
    """A policy evaluated without the missing fields could pass for that reason alone."""
    recording(tmp_path / "r", two_nodes, LABELLED)
    (tmp_path / "new.yaml").write_text("profile: full\n")
    arguments = ["policy", "diff", *[str(tmp_path / "new.yaml")] * 2, "--recording", str(tmp_path / "r")]
    done = CliRunner().invoke(main, arguments, prog_name="berth")
    assert done.exit_code == 2
    assert done.stdout.startswith("warning: the policies are judged without Services and controllers, by which")
    assert "r lacks what a policy reads: record again while a policy is in force that reads it" in done.stderr
