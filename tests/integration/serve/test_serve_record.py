"""`berth serve` with --record and --decisions-file, in a process of its own, and `berth policy diff` of what it
recorded."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from berth_cli.main import main
from tests.builders.http_calls import Caller
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode
from tests.conftest import CLUSTER

from .serving import start

pytestmark = pytest.mark.long
"""A server in a process of its own for each test."""

NAMES = ["n10", "n20", "plain", "worded", "unknown"]


def play(folder: Path, *arguments: str) -> None:
    """A server on a copy of events/cluster.yaml, some calls, and Ctrl-C. Its metrics are in the file `metrics`."""
    dump = folder / "cluster.yaml"
    dump.write_bytes(CLUSTER.read_bytes())
    served = start("--cluster", str(dump), "--port", "0", *arguments)
    try:
        caller = Caller(served.port)
        for number in range(20):
            verb = ("filter", "prioritize", "filter_onlyone")[number % 3]
            names = [*NAMES[number % 5 :], *NAMES[: number % 5]]
            caller.post(f"/scheduler/{verb}", body_of(cache_mode(names, pod_object(f"p{number}"))))
        caller.post("/scheduler/bind", body_of(binding()))
        (folder / "metrics").write_bytes(caller.request("GET", "/metrics").content)
        caller.close()
        status, _, errors = served.ctrl_c()
    finally:
        served.process.kill()
    assert status == 0, errors


def test_replay_repeats_every_decision_of_a_server(tmp_path: Path) -> None:
    path, configuration = tmp_path / "r", tmp_path / "berth.yaml"
    configuration.write_text("profile: label-priority\n")
    play(tmp_path, "--config", str(configuration), "--record", str(path))
    assert 'berth_recorded_decisions_total{result="dropped"} 0.0\n' in (tmp_path / "metrics").read_text()
    command = ["policy", "diff", *[str(configuration)] * 2, "--recording", str(path)]
    done = CliRunner().invoke(main, command, prog_name="berth")
    assert done.exit_code == 0, done.output
    # Of the others there is no filter.
    assert f"{path}: 13 pods judged on the recorded states, 20 decisions of the old policy made again, 0 differ" in (
        done.stdout
    )
    assert "0 newly pending, 0 moved, 0 newly placed" in done.stdout


def test_decisions_are_written_to_the_configured_file(tmp_path: Path) -> None:
    configuration, file = tmp_path / "berth.yaml", tmp_path / "decisions"
    configuration.write_text("decisions: file\n")
    play(tmp_path, "--config", str(configuration), "--decisions-file", str(file))
    lines = [orjson.loads(line) for line in file.read_text().splitlines()]
    found = [line for line in lines if "verb" in line]
    assert [each["verb"] for each in found][:3] == ["filter", "prioritize", "filter_onlyone"]
    assert len(found) == 21
    first, names = found[0], next(line["nodeNames"] for line in lines if "nodeNames" in line)
    bits = int(first["reasons"][0]["bitmap"], 16)
    assert [name for at, name in enumerate(names) if bits >> at & 1][:3] == first["reasons"][0]["nodes"]
