"""Prometheus' text format, version 0.0.4, read as its documentation describes it. Everything else is an error.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
_NUMBER = r"[+-]?(?:Inf|NaN|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)"
_SAMPLE = re.compile(rf"({_NAME})(?:\{{((?:{_LABEL},?)*)\}})? ({_NUMBER})(?: -?[0-9]+)?")
_HELP = re.compile(rf"# HELP ({_NAME}) .*")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|histogram|summary|untyped)")
_ONE_LABEL = re.compile(r'([^=,]+)="((?:[^"\\]|\\.)*)"')
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


class MalformedMetrics(Exception):
    """Prometheus would not take this text. The message names the line."""


@dataclass(frozen=True, slots=True)
class Sample:
    """labels: sorted by name."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float

    def label(self, name: str) -> str:
        """Its value; empty if the sample has no such label."""
        return dict(self.labels).get(name, "")


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with its samples. kind: of the TYPE line."""

    name: str
    kind: str
    samples: list[Sample]


def read_metrics(text: str) -> dict[str, Family]:
    """The families by name. Raises MalformedMetrics."""
    if text and not text.endswith("\n"):
        raise MalformedMetrics("the last line has no end")
    families: dict[str, Family] = {}
    helped: set[str] = set()
    current: Family | None = None
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for line in text.splitlines():
        if help_line := _HELP.fullmatch(line):
            _once(help_line[1] not in helped, line)
            helped.add(help_line[1])
        elif type_line := _TYPE.fullmatch(line):
            # Before the first sample of its name, and once.
            _once(type_line[1] not in families, line)
            current = families[type_line[1]] = Family(type_line[1], type_line[2], [])
        elif line and not line.startswith("# "):
            sample = _sample(line)
            _once((sample.name, sample.labels) not in seen, line)
            seen.add((sample.name, sample.labels))
            # The samples of a metric stand together.
            _once(current is not None and sample.name in _names(current), line)
            assert current is not None
            current.samples.append(sample)
    for family in families.values():
        if family.kind == "histogram":
            _check_histogram(family)
    return families


def _once(holds: bool, line: str) -> None:
    if not holds:
        raise MalformedMetrics(line)


def _sample(line: str) -> Sample:
    found = _SAMPLE.fullmatch(line)
    if found is None:
        raise MalformedMetrics(line)
    labels = [(name, _unescaped(value)) for name, value in _ONE_LABEL.findall(found[2] or "")]
    _once(len(labels) == len(dict(labels)), line)
    return Sample(found[1], tuple(sorted(labels)), float(found[3]))


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], value)


def _names(family: Family) -> Iterator[str]:
    for suffix in _SUFFIXES.get(family.kind, ("",)):
        yield family.name + suffix


def _check_histogram(family: Family) -> None:
    """Buckets are cumulative and end with +Inf, which is the number of observations."""
    buckets: Mapping[tuple[tuple[str, str], ...], list[tuple[float, float]]] = defaultdict(list)
    counts: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in family.samples:
        labels = tuple(each for each in sample.labels if each[0] != "le")
        if sample.name.endswith("_bucket"):
            buckets[labels].append((float(sample.label("le")), sample.value))
        elif sample.name.endswith("_count"):
            counts[labels] = sample.value
    for labels, found in buckets.items():
        values = [value for _, value in found]
        if found != sorted(found) or values != sorted(values) or found[-1] != (float("inf"), counts.get(labels)):
            raise MalformedMetrics(f"the buckets of {family.name}{dict(labels)}")
