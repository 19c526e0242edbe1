"""`berth replay` and `berth policy diff --recording`: outputs, limits, and fields that a recording lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.main import main
from tests.unit.cli.recording.recorded import recording
from tests.unit.cli.recording.test_replay import FULL, LABELLED, ONLY_B, two_nodes


@pytest.mark.parametrize(
    ("arguments", "status", "output"),
    [
        pytest.param([], 0, "2 decisions about 2 pods", id="the same policy"),
        pytest.param(["--config", "new.yaml"], 0, "0 newly pending, 1 moved, 0 newly placed", id="another policy"),
        pytest.param(["-o", "json"], 0, '"differing": 0', id="json"),
    ],
)
def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    recording(Path("r"), two_nodes, LABELLED)
    Path("new.yaml").write_text(BerthConfiguration.model_validate(ONLY_B).model_dump_json(by_alias=True))
    done = CliRunner().invoke(main, ["replay", "r", *arguments], prog_name="berth")
    assert (done.exit_code, output in done.stdout) == (status, True), done.output


def test_policy_diff_judges_a_recording_within_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recording(Path("r"), two_nodes, FULL)
    for name, document in (("old.yaml", "profile: full\n"), ("new.yaml", "profile: label-priority\n")):
        Path(name).write_text(document)
    done = CliRunner().invoke(main, ["policy", "diff", "old.yaml", "new.yaml", "--recording", "r"], prog_name="berth")
    assert done.exit_code == 1
    assert "limit exceeded: 1 of 2 pods newly pending, at most 0 allowed" in done.stdout


def diff_by_a_policy_that_reads_more(tmp_path: Path, *options: str, has_all_fields: bool = False) -> Result:
    recording(tmp_path / "r", two_nodes, LABELLED, has_all_fields=has_all_fields)
    (tmp_path / "new.yaml").write_text("profile: full\n")
    policies = [str(tmp_path / "new.yaml")] * 2
    arguments = ["policy", "diff", *policies, "--recording", str(tmp_path / "r"), *options]
    return CliRunner().invoke(main, arguments, prog_name="berth")


def test_a_policy_that_reads_what_was_not_recorded_keeps_no_limit(tmp_path: Path) -> None:
    """It would be judged without it, and could pass for that reason alone."""
    done = diff_by_a_policy_that_reads_more(tmp_path)
    assert done.exit_code == 2
    assert done.stdout.startswith("warning: the policies are judged without Services and controllers, by which")
    assert "r lacks what a policy reads: record again while a policy is in force that reads it" in done.stderr


def test_markdown_warns_of_fields_that_were_not_recorded(tmp_path: Path) -> None:
    done = diff_by_a_policy_that_reads_more(tmp_path, "-o", "markdown")
    assert done.stdout.startswith("Warning: the policies are judged without Services"), done.output
    assert "images, which ImageLocality scores" in done.stdout


def test_a_replay_by_another_policy_warns_of_missing_fields(tmp_path: Path) -> None:
    recording(tmp_path / "r", two_nodes, LABELLED)
    (tmp_path / "new.yaml").write_text("profile: full\n")
    arguments = ["replay", str(tmp_path / "r"), "--config", str(tmp_path / "new.yaml"), "-o", "json"]
    done = CliRunner().invoke(main, arguments, prog_name="berth")
    assert (done.exit_code, len(json.loads(done.stdout)["missingFields"])) == (0, 2)


def test_the_states_of_a_dump_have_all_fields(tmp_path: Path) -> None:
    done = diff_by_a_policy_that_reads_more(tmp_path, has_all_fields=True)
    assert (done.exit_code, "warning" in done.output) == (0, False), done.output
