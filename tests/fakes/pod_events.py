"""A writer of events on pods that keeps what it is given."""

from __future__ import annotations

from berth.upkeep.pod_events import PodEvent, PodEventWriter, Series, WriteOutcome, WriteResult


class RecordingPodEvents(PodEventWriter):
    """written: in their order. results: of the next writes, which keep nothing."""

    def __init__(self) -> None:
        self.written: list[tuple[PodEvent, Series]] = []
        self.results: list[WriteResult] = []
        self.calls = 0

    def write(self, event: PodEvent, series: Series) -> WriteResult:
        self.calls += 1
        if self.results:
            return self.results.pop(0)
        self.written.append((event, series))
        return WriteResult(WriteOutcome.WRITTEN)
