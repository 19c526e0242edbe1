"""The benchmark reads the tables that its watcher writes."""

from __future__ import annotations

import pytest

from tests.bench import event_to_visible


@pytest.mark.long
def test_a_change_in_the_api_server_is_seen_by_the_verb() -> None:
    figures = list(event_to_visible.measure(events=1))
    assert [figure.name for figure in figures] == ["cache.event_to_visible.p50", "cache.event_to_visible.p99"]
