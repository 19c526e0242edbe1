"""`berth replay` with what it cannot do, or can do in part."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from berth_cli.replay.command import replay
from tests.builders.nodes import node_with
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.recording.recorded import recording


def one_decision(verbs: Verbs) -> None:
    verbs.cluster.publish("nodes", [{key: value for key, value in node_with("a").items() if key != "kind"}])
    verbs.ask("filter", cache_mode(["a"]))


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(replay, [str(path), *arguments])


def test_a_truncated_recording_is_replayed_and_said_to_be_truncated(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recording(path, one_decision)
    path.write_bytes(path.read_bytes()[:-8])  # gzip's last eight bytes are sum and length
    done = run(path)
    assert (done.exit_code, done.stderr) == (
        0,
        "warning: the recording ends in the middle: its process was killed; what is there was replayed\n",
    )
    assert "1 decisions about 1 pods" in done.stdout


@pytest.mark.parametrize("output", ["markdown"])
def test_a_report_for_a_page_is_of_another_policy(output: str, tmp_path: Path) -> None:
    recording(tmp_path / "r", one_decision)
    done = run(tmp_path / "r", "-o", output)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"-o {output} is a comparison: give --config NEW.yaml" in done.stderr
