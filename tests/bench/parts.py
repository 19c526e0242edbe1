"""The parts of a warm call, each without those inside of it, in microseconds of the thread's processor time.

A profiler makes calls of Python functions seem slower than calls in C. Here only a few functions are timed. The figures
are medians of the faster half of the calls.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

from berth.extender import filter as filtering
from berth.extender import prioritize
from berth.extender.request import arguments
from berth.runtime.telemetry.telemetry import Telemetry
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.evaluation.local_scores import LocalScores
from berth.scheduling.evaluation.verdicts import LocalVerdicts, Verdicts
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.node_positions import NodePositions, NodeRefs
from tests.bench import cluster
from tests.bench.calls import Environment, Verb
from tests.bench.figures import Family, Figure

NODES, CALLS, WARM_UP = 5_000, 200, 20

Parts = Sequence[tuple[object, str, str]]
"""Where a function is looked up, its name there, and the part that it is of."""

PARTS: Parts = (
    (Environment, "next_event", "decode-event"),
    (arguments, "read_scheduling_request", "decode-request"),
    (arguments, "_are_strings", "check-strings"),
    (NodePositions, "of", "positions"),
    (NodeRefs, "of", "repeated-names"),
    (EvaluationCache, "of", "carry-over"),
    (LocalVerdicts, "_evaluate", "judge-changed"),
    (Verdicts, "codes_at", "verdicts"),
    (Verdicts, "filter_nodes", "names-of-rejected"),
    (Policy, "feasibility", "names-of-feasible"),
    (LocalScores, "totals", "scores"),
    (Policy, "timely_scores", "scale"),
    (filtering, "reasons", "reasons"),
    (prioritize, "host_scores", "scores-as-text"),
    (filtering, "reply", "encode"),
    (prioritize, "reply", "encode"),
    (Telemetry, "ended", "log"),
    (Environment, "answer", "encode-for-lambda"),
    (Environment, "handle", "rest"),
)

CASES: Sequence[tuple[Verb, str]] = (("filter", "label-priority"), ("filter", "full"), ("prioritize", "label-priority"))


def families() -> Iterator[Family]:
    """One family for each verb and profile."""
    for verb, profile in CASES:
        yield Family(f"parts.{verb}.{profile}", partial(_measure, verb, profile))


class Stopwatch:
    """The seconds of each part since `clear`; for one thread."""

    def __init__(self, parts: Parts = PARTS) -> None:
        self._parts = parts
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inside: list[float] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Until the block ends the parts are timed."""
        with ExitStack() as patches:
            for where, name, part in self._parts:
                found = vars(where)[name]
                timed = self._timed(found.__func__ if isinstance(found, classmethod) else found, part)
                patches.enter_context(
                    patch.object(where, name, classmethod(timed) if isinstance(found, classmethod) else timed)
                )
            yield

    def _timed(self, call: Callable[..., Any], part: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            self._inside.append(0.0)
            started = time.thread_time()
            try:
                return call(*arguments, **named)
            finally:
                taken = time.thread_time() - started
                self.seconds[part] += taken - self._inside.pop()
                if self._inside:
                    self._inside[-1] += taken

        return timed


def _measure(verb: Verb, profile: str) -> Iterator[Figure]:
    watch = Stopwatch()
    with watch.running():
        for kind in ("unchanged", "changed"):
            environment = Environment(verb, profile, cluster.plain_pod(), NODES)
            calls = []
            for _ in range(WARM_UP + CALLS):
                if kind == "changed":
                    environment.change()
                watch.seconds.clear()
                environment.answer()
                calls.append(dict(watch.seconds))
            faster = sorted(calls[WARM_UP:], key=lambda call: sum(call.values()))[: CALLS // 2]
            for part in dict.fromkeys(part for _, _, part in PARTS):
                if any(part in call for call in faster):
                    taken = median(call.get(part, 0.0) for call in faster)
                    yield Figure(f"parts.{verb}.{profile}.{kind}.{NODES}.{part}", taken * 1e6, "us")
