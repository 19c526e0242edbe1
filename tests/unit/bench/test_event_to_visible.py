"""The benchmark reads the tables that its watcher writes."""

from __future__ import annotations

import pytest

from tests.bench import event_to_visible


@pytest.mark.long
def test_a_change_in_the_api_server_is_seen_by_the_verb() -> None:
    figures = list(event_to_visible.measure(most=1))
    assert [figure.name for figure in figures] == [
        f"cache.event_to_visible{pace}.{figure}" for pace in ("", ".20_a_second") for figure in ("p50", "p99")
    ]
