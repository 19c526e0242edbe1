"""What the watcher sends to a verb's function so that it catches up without being asked anything."""

from __future__ import annotations

from collections.abc import Mapping

SOURCE = "berth.warm-up"
EVENT: Mapping[str, object] = {"source": SOURCE}


def is_warm_up(event: Mapping[str, object]) -> bool:
    """Whether the watcher sent it. An event of the HTTP API has no `source`, and its caller cannot give it one."""
    return event.get("source") == SOURCE
