"""`/api/policy/replay`: the pods of a recording, by the configuration in force and another one.

With a second policy both judge each pod on its recorded states. Without one the configuration in force stands beside
those that decided when it was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import Lock

import orjson

from berth.scheduling.framework.plugin import PluginFailed
from berth_cli.console.documents.feed import Feed
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Document, Query
from berth_cli.console.policy.documents import SecondPolicy, diff_document
from berth_cli.input_files import InvalidInput
from berth_cli.policy.diff.from_recording import diff_recording
from berth_cli.policy.diff.policy_diff import missing_texts
from berth_cli.recording.format import DecisionLine, Line, read_recording
from berth_cli.recording.replay import RecordedDecisions

REPLAY = "/api/policy/replay"
REPLAY_SECONDS = 30.0


class ReplayDocuments:
    """One replay at a time: it takes some seconds of a processor."""

    def __init__(
        self, feed: Feed, recording: Path | None, second: SecondPolicy | None, monotonic: Callable[[], float]
    ) -> None:
        """`recording`, `second`: None where none was given. `monotonic`: seconds."""
        self._feed, self._recording, self._second, self._monotonic = feed, recording, second, monotonic
        self._lock = Lock()

    @property
    def by_path(self) -> Mapping[str, Document]:
        """For the application."""
        return {REPLAY: self.replay}

    def replay(self, _: Query) -> bytes | Refusal:
        """What `berth policy diff --recording -o json` prints, its headline, and what the recording lacks."""
        observed = self._feed.observed
        if observed is None:
            return Refusal(503, Outcome.NOT_READY, self._feed.condition.problem)
        if self._recording is None:
            return Refusal(404, Outcome.UNKNOWN_PATH, "there is no recording; give --recording FILE")
        in_force, second = observed.configured.policy, self._second
        with self._lock:
            lines = _LinesInTime(read_recording(self._recording), self._monotonic)
            recorded = RecordedDecisions(lines)
            old, new = (None, in_force) if second is None else (in_force, second.configuration.policy())
            try:
                found = diff_recording(recorded, old, new, str(self._recording))
            except (InvalidInput, PluginFailed) as error:
                return Refusal(503, Outcome.NOT_READY, str(error))
        notes = [*missing_texts(found), *recorded.summary.notes, *lines.notes]
        return orjson.dumps({**diff_document(found), "notes": notes})


class _LinesInTime:
    """The lines of a recording, as far as the time allows. It ends before a decision."""

    def __init__(self, lines: Iterable[Line], monotonic: Callable[[], float]) -> None:
        self._lines, self._monotonic = lines, monotonic
        self._is_cut = False

    def __iter__(self) -> Iterator[Line]:
        end = self._monotonic() + REPLAY_SECONDS
        for line in self._lines:
            if isinstance(line, DecisionLine) and self._monotonic() >= end:
                self._is_cut = True
                return
            yield line

    @property
    def notes(self) -> list[str]:
        """For the reader of the result."""
        if not self._is_cut:
            return []
        return [f"the replay ended after {REPLAY_SECONDS:g} s; berth policy diff --recording takes all of it"]
