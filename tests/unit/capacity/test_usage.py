"""The kept counts of usage are those of the code, for a small cluster."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import TypeAdapter

from tests.conftest import PROJECT
from tools.cost.usage import Usage, read_usage

pytestmark = pytest.mark.long

NODES = 100
SCRIPT = f"""
from pydantic import TypeAdapter
from tests.capacity.usage import Usage, count
import sys
found = TypeAdapter(Usage).dump_json(count(({NODES},), running_share={read_usage().watcher.running_share}))
sys.stderr.buffer.write(b"COUNTED " + found)
"""
TOLERANCE = 0.03
"""Log lines contain times and durations, whose digits differ from run to run."""


@pytest.fixture(scope="module")
def counted() -> Usage:
    """Counted in a process of its own, because the embedded tables belong to the session."""
    environment = {"PATH": "/usr/bin:/bin", "AWS_DEFAULT_REGION": "eu-central-1", "BERTH_STACK": "berth-production"}
    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=PROJECT, env=environment, capture_output=True, check=True)
    return TypeAdapter(Usage).validate_json(run.stderr.rpartition(b"COUNTED ")[2])


@pytest.mark.parametrize("call", ["filter", "prioritize", "bind"])
def test_kept_call_is_what_the_handler_uses(counted: Usage, call: str) -> None:
    found, kept = counted.cluster(NODES).calls[call], read_usage().cluster(NODES).calls[call]
    assert (found.read_units, found.write_units) == (kept.read_units, kept.write_units)
    assert found.request_bytes == kept.request_bytes
    assert found.answer_bytes == pytest.approx(kept.answer_bytes, rel=TOLERANCE)
    assert found.log_bytes == pytest.approx(kept.log_bytes, rel=TOLERANCE)


def test_kept_watcher_is_what_the_watcher_uses(counted: Usage) -> None:
    found, kept = counted.watcher, read_usage().watcher
    assert found.warm_ups_a_minute == kept.warm_ups_a_minute
    assert found.metric_lines_a_minute == kept.metric_lines_a_minute
    assert found.metric_line_bytes == pytest.approx(kept.metric_line_bytes, rel=TOLERANCE)
    assert found.run_line_bytes == pytest.approx(kept.run_line_bytes, rel=TOLERANCE)


def test_kept_units_are_the_model_s(counted: Usage) -> None:
    found, kept = counted.cluster(NODES), read_usage().cluster(NODES)
    assert found.idle_write_units_a_second == pytest.approx(kept.idle_write_units_a_second, rel=TOLERANCE)
    assert found.write_units_a_decision == pytest.approx(kept.write_units_a_decision, rel=TOLERANCE)
    assert found.log_read_units_a_decision == pytest.approx(kept.log_read_units_a_decision, rel=TOLERANCE)
