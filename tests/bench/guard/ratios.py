"""Ratios of `make bench` to the floors of the same run, which a slower or busier machine changes little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tests.bench import first_sight, gangs, preempt, warm
from tests.bench.figures import Figure

GUARDED = (
    "filter.label-priority.plain.unchanged.1000.ratio",
    "filter.label-priority.plain.changed.1000.ratio",
    "filter.label-priority.plain.unchanged.5000.ratio",
    "filter.label-priority.plain.changed.5000.ratio",
    "filter.full.plain.unchanged.5000.ratio",
    "filter.full.plain.changed.5000.ratio",
    "filter.full.spread.changed.5000.ratio",
    "filter_onlyone.label-priority.plain.unchanged.5000.ratio",
    "prioritize.label-priority.plain.unchanged.5000.ratio",
    "filter.label-priority.gangs.fitting.unchanged.ratio",
    "filter.full.gangs.fitting.unchanged.ratio",
)
"""Names of figures."""


def measured(names: Iterable[str] = GUARDED) -> Mapping[str, float]:
    """These figures, each family once."""
    wanted = set(names)
    return {figure.name: figure.value for figure in _figures(wanted) if figure.name in wanted}


def _figures(wanted: set[str]) -> Iterator[Figure]:
    for module in (warm, first_sight, preempt, gangs):
        for family in module.families():
            if any(name.startswith(f"{family.name}.") for name in wanted):
                yield from family.figures(family.name)
