"""Coverage of each plugin by the cases, counted on kube-scheduler's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.parity.responder import Answer

FILTERED, SCORED = "both", "scored differently"
"""A case covers a filter if it passes one node and rejects another, and a score plugin if two nodes' scores differ."""

_COLUMNS = ("accepted", "rejected", FILTERED, "rejected first", SCORED)


class Coverage:
    def __init__(self) -> None:
        self.cases: Counter[tuple[str, str]] = Counter()
        self.preemptions: Counter[str] = Counter()

    def add(self, answer: Answer) -> None:
        self._add_verdicts(answer)
        for plugin, scores in answer["scores"].items():
            self.cases[plugin, SCORED] += len(set(scores.values())) > 1
        self._add_preemption(answer)

    def update(self, other: Coverage) -> None:
        self.cases.update(other.cases)
        self.preemptions.update(other.preemptions)

    def _add_verdicts(self, answer: Answer) -> None:
        verdicts = answer["verdicts"].values()
        for plugin in {plugin for verdict in verdicts for plugin in verdict["all"]}:
            codes = [verdict["all"][plugin]["code"] for verdict in verdicts]
            accepted = codes.count("Success")
            self.cases[plugin, "accepted"] += accepted > 0
            self.cases[plugin, "rejected"] += accepted < len(codes)
            self.cases[plugin, FILTERED] += 0 < accepted < len(codes)
            self.cases[plugin, "rejected first"] += any(verdict["plugin"] == plugin for verdict in verdicts)

    def _add_preemption(self, answer: Answer) -> None:
        preemption = answer["preemption"]
        if not preemption:
            return
        victims = preemption["candidates"].values()
        self.preemptions["not eligible"] += preemption["reason"] is not None
        self.preemptions["several candidates"] += len(victims) > 1
        self.preemptions["several victims"] += any(len(each["victims"]) > 1 for each in victims)
        self.preemptions["budget violated"] += any(each["numPDBViolations"] for each in victims)
        self.preemptions["tied"] += len(preemption["tied"]) > 1

    def thin(self, least: int, uncovered: frozenset[str] = frozenset()) -> list[str]:
        """Return plugins that fewer than `least` cases cover, with the number of cases, except those in `uncovered`."""
        return [
            f"{plugin} ({count} cases {column})"
            for (plugin, column), count in sorted(self.cases.items())
            if column in (FILTERED, SCORED) and count < least and plugin not in uncovered
        ]

    def table(self) -> Iterator[str]:
        """Yield one line per plugin, and one line of preemptions."""
        yield f"{'cases in which':32}" + "".join(f"{column:>20}" for column in _COLUMNS)
        for plugin in sorted({plugin for plugin, _ in self.cases}):
            counts = (str(self.cases[plugin, column]) if (plugin, column) in self.cases else "" for column in _COLUMNS)
            yield f"{plugin:32}" + "".join(f"{count:>20}" for count in counts)
        yield ", ".join(f"{preemption}: {count}" for preemption, count in sorted(self.preemptions.items()))
