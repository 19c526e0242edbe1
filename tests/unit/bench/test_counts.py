"""Operation counts detect a change that makes a call do more work before timings show it."""

from __future__ import annotations

import json

import pytest

from tests.bench import counts

pytestmark = pytest.mark.long


def test_counts_of_operations_do_not_exceed_the_committed_values() -> None:
    measured = counts.measured()
    assert counts.excesses(measured) == [], "python -m tests.bench.counts --write commits to the new values"
    assert list(json.loads(counts.COMMITTED.read_text())) == list(measured)
