"""The figures of `berth bench` as a table, as Markdown or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from berth_cli.bench.measurement import CallOutcome, Times, VerbFigures

HEADER = (
    "verb",
    "first ms",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "most ms",
    "burst p50 ms",
    "burst most ms",
    "answer",
    "not answered",
)
FAILURES = (CallOutcome.REFUSED, CallOutcome.THROTTLED, CallOutcome.FAILED, CallOutcome.NO_ANSWER, CallOutcome.ERROR)


@dataclass(frozen=True, slots=True)
class Report:
    """`connection_ms`: TCP and TLS, None for plain http. `node_names`: how many each request has."""

    address: str
    connection_ms: float | None
    node_names: int
    warm_calls: int
    burst_calls: int
    verbs: tuple[VerbFigures, ...]

    @property
    def answered(self) -> bool:
        """Whether every call of every verb was answered without an error, or throttled in the burst."""
        return all(_not_answered(figures) == figures.throttled_in_burst for figures in self.verbs)


def table(report: Report) -> Iterator[str]:
    """Lines for people: the figures, and below them what went wrong."""
    rows = [HEADER, *(_cells(each) for each in report.verbs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    yield from summary(report)
    yield ""
    for row in rows:
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join((first, *others)).rstrip()
    yield from problems(report.verbs)


def markdown(report: Report) -> Iterator[str]:
    """The same for a document."""
    yield " ".join(summary(report))
    yield ""
    for row in (HEADER, ("---",) * len(HEADER), *(_cells(each) for each in report.verbs)):
        yield f"| {' | '.join(row)} |"
    yield from problems(report.verbs)


def summary(report: Report) -> Iterator[str]:
    """What was called."""
    connection = "" if report.connection_ms is None else f" A new TLS connection takes {report.connection_ms:.0f} ms."
    yield (
        f"{report.address}: 1 first call, {report.warm_calls} one after another and {report.burst_calls} at once for "
        f"each verb, {report.node_names} node name{'' if report.node_names == 1 else 's'} each.{connection}"
    )


def problems(verbs: Sequence[VerbFigures]) -> Iterator[str]:
    """A line for each verb with calls that were not answered."""
    for figures in verbs:
        counts = [f"{figures.outcomes[each]} {each}" for each in FAILURES if figures.outcomes.get(each)]
        if counts:
            yield ""
            throttled = figures.throttled_in_burst
            burst = f". Of them {throttled} in the burst, which is no failure." if throttled else ""
            yield f"{figures.verb}: {', '.join(counts)}: {figures.detail}{burst}"


def document(report: Report) -> dict[str, object]:
    """For programs; times in milliseconds, null where no call was answered."""
    return {
        "address": report.address,
        "connectionMs": report.connection_ms,
        "nodeNames": report.node_names,
        "verbs": [
            {
                "verb": each.verb,
                "first": _times(each.first),
                "warm": _times(each.warm),
                "burst": _times(each.burst),
                "throttledInBurst": each.throttled_in_burst,
                "answerBytes": each.answer_bytes,
                "outcomes": {outcome.value: each.outcomes.get(outcome, 0) for outcome in CallOutcome},
                "detail": each.detail,
            }
            for each in report.verbs
        ],
    }


def _times(times: Times) -> dict[str, float | int | None]:
    figures = {"p50": times.p50, "p90": times.p90, "p99": times.p99, "most": times.most}
    return {"calls": times.calls, **{name: None if ms is None else round(ms, 3) for name, ms in figures.items()}}


def _cells(figures: VerbFigures) -> tuple[str, ...]:
    warm, burst = figures.warm, figures.burst
    times = (figures.first.p50, warm.p50, warm.p90, warm.p99, warm.most, burst.p50, burst.most)
    return (figures.verb, *map(_milliseconds, times), _size(figures.answer_bytes), str(_not_answered(figures)))


def _not_answered(figures: VerbFigures) -> int:
    return sum(figures.outcomes.get(each, 0) for each in FAILURES)


def _milliseconds(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.1f}"


def _size(count: int) -> str:
    return f"{count} B" if count < 1024 else f"{count / 1024:.1f} KB"
