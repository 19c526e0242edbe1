"""A writer of events on pods that keeps the events."""

from __future__ import annotations

from berth.upkeep.pod_events import PodEvent, PodEventWriter


class RecordingPodEvents(PodEventWriter):
    """written: the events and the names of their objects. causes: why the next writes fail."""

    def __init__(self) -> None:
        self.written: list[tuple[PodEvent, str]] = []
        self.causes: list[str] = []
        self.calls = 0

    def write(self, event: PodEvent, name: str, at: float) -> str:
        self.calls += 1
        if self.causes:
            return self.causes.pop(0)
        self.written.append((event, name))
        return ""
