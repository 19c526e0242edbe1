"""The kept counts of usage are those of the code, for a small, a medium and a large cluster."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict

import pytest
from pydantic import TypeAdapter

from tests.conftest import PROJECT
from tools.cost.usage import RunUsage, Usage, read_usage

pytestmark = pytest.mark.long

COUNTED = (100, 1_000, 5_000)
DAY_SECONDS = 6 * 3600.0
SCRIPT = f"""
from pydantic import TypeAdapter
from tests.capacity.usage import Usage, count
import sys
found = TypeAdapter(Usage).dump_json(count({COUNTED}, seconds={DAY_SECONDS}))
sys.stderr.buffer.write(b"COUNTED " + found)
"""
TOLERANCE = 0.03
"""Log lines contain times and durations, whose digits differ from run to run."""
OF_A_QUARTER = 0.1
"""A quarter of the simulated day has fewer handovers, and they are not spread evenly."""


@pytest.fixture(scope="module")
def counted() -> Usage:
    """Counted in a process of its own, because the embedded tables belong to the session."""
    environment = {"PATH": "/usr/bin:/bin", "AWS_DEFAULT_REGION": "eu-central-1", "BERTH_STACK": "berth-production"}
    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=PROJECT, env=environment, capture_output=True, check=True)
    return TypeAdapter(Usage).validate_json(run.stderr.rpartition(b"COUNTED ")[2])


@pytest.mark.parametrize("nodes", COUNTED)
@pytest.mark.parametrize("call", ["filter", "prioritize", "bind"])
def test_kept_call_is_what_the_handler_uses(counted: Usage, nodes: int, call: str) -> None:
    found, kept = counted.cluster(nodes).calls[call], read_usage().cluster(nodes).calls[call]
    assert asdict(found) == pytest.approx(asdict(kept), rel=TOLERANCE)
    assert found.request_bytes == kept.request_bytes


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize", "bind", "preempt"])
def test_kept_warm_up_is_what_the_handler_uses(counted: Usage, verb: str) -> None:
    nodes = COUNTED[0]
    found, kept = counted.cluster(nodes).warm_ups[verb], read_usage().cluster(nodes).warm_ups[verb]
    assert asdict(found) == pytest.approx(asdict(kept), rel=TOLERANCE)


def test_warm_up_costs_the_same_on_every_cluster() -> None:
    """Logs and reads do not depend on the size, but for digits."""
    first, *others = read_usage().clusters
    for other in others:
        for verb, kept in first.warm_ups.items():
            assert asdict(other.warm_ups[verb]) == pytest.approx(asdict(kept), rel=TOLERANCE)


@pytest.mark.parametrize("runs", ["continuous", "with_standby", "external"])
def test_kept_runs_are_those_of_the_simulated_day(counted: Usage, runs: str) -> None:
    found: RunUsage = getattr(counted.watcher, runs)
    kept: RunUsage = getattr(read_usage().watcher, runs)
    assert asdict(found) == pytest.approx(asdict(kept), rel=OF_A_QUARTER)


def test_kept_watcher_is_what_the_watcher_uses(counted: Usage) -> None:
    found, kept = counted.watcher, read_usage().watcher
    assert found.warm_ups_a_minute == kept.warm_ups_a_minute
    assert found.metric_lines_a_minute == kept.metric_lines_a_minute
    assert (found.metrics, found.periodic) == (kept.metrics, kept.periodic)
    assert found.metric_line_bytes == pytest.approx(kept.metric_line_bytes, rel=TOLERANCE)
    assert found.run_line_bytes == pytest.approx(kept.run_line_bytes, rel=TOLERANCE)


@pytest.mark.parametrize("nodes", COUNTED)
def test_kept_units_are_the_model_s(counted: Usage, nodes: int) -> None:
    found, kept = counted.cluster(nodes), read_usage().cluster(nodes)
    for name in (
        "idle_head_write_units_a_second",
        "idle_snapshot_write_units_a_second",
        "write_units_a_decision",
        "log_read_units_a_decision",
        "snapshot_load_read_units",
    ):
        assert getattr(found, name) == pytest.approx(getattr(kept, name), rel=TOLERANCE), name


def test_kept_options_are_what_the_code_uses(counted: Usage) -> None:
    assert asdict(counted.options) == pytest.approx(asdict(read_usage().options), rel=TOLERANCE)
