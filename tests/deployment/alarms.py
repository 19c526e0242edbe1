"""The template's alarms, evaluated as CloudWatch documents, over the metrics in log lines and counted metrics.

Statistics are of whole minutes of the clock. At the end of each minute an alarm evaluates its last periods, and two
more if some of them have no value: existing values count before missing values are treated as the alarm specifies.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html has a range of five for
three periods; other ranges are not documented. The evaluation does not include CloudWatch's own delay.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MINUTE = 60.0
MORE_PERIODS = 2
"""Number of periods that CloudWatch evaluates in addition to EvaluationPeriods."""

Metric = tuple[str, str, frozenset[tuple[str, str]]]
"""Namespace, name and dimensions."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
}
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Minimum": min,
    "Maximum": max,
    "Sum": sum,
    "SampleCount": len,
}


@dataclass
class Metrics:
    """Values by metric and minute since the epoch."""

    minutes: dict[Metric, dict[int, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def add(self, namespace: str, name: str, dimensions: Mapping[str, str], at: float, values: Sequence[float]) -> None:
        """at: seconds since the epoch."""
        self.minutes[namespace, name, frozenset(dimensions.items())][int(at // MINUTE)] += values

    def add_line(self, line: Mapping[str, Any]) -> None:
        """Add the metrics of a log line in the Embedded Metric Format, if it has any."""
        described = line.get("_aws", {})
        for group in described.get("CloudWatchMetrics", ()):
            for names in group["Dimensions"]:
                dimensions = {name: str(line[name]) for name in names}
                for metric in group["Metrics"]:
                    found = line[metric["Name"]]
                    values = found if isinstance(found, list) else [found]
                    self.add(group["Namespace"], metric["Name"], dimensions, described["Timestamp"] / 1000, values)

    def values(self, metric: Metric, minutes: range) -> list[float]:
        found = self.minutes.get(metric, {})
        return [value for minute in minutes for value in found.get(minute, ())]


@dataclass(frozen=True)
class Alarm:
    """An alarm of the template. `names`: physical names by the logical ids to which its dimensions refer."""

    properties: Mapping[str, Any]
    names: Mapping[str, str]

    def is_on(self, metrics: Metrics, end: int, begin: int = 0) -> bool:
        """Return whether the alarm is on at the end of this minute. begin: earlier minutes count as not breaching."""
        return is_alarm(self.points(metrics, end, begin), self.properties)

    def points(self, metrics: Metrics, end: int, begin: int = 0) -> list[bool | None]:
        """Return whether each period of the range breaches, the latest last; None for a period without a value."""
        stat = metric_of(self.properties)
        length, periods = stat["Period"] // 60, int(self.properties["EvaluationPeriods"])
        found: list[bool | None] = []
        for back in reversed(range(periods + MORE_PERIODS)):
            last = end - back * length
            values = metrics.values(self._metric(stat), range(last - length + 1, last + 1))
            if last < begin:
                found.append(False)
            elif values:
                found.append(self._breaches(STATISTICS[stat["Stat"]](values)))
            else:
                found.append(self._breaches(0) if self._fills_with_0() else None)
        return found

    def _breaches(self, value: float) -> bool:
        compare = COMPARISONS[self.properties["ComparisonOperator"]]
        return compare(value, float(self.properties["Threshold"]))

    def _fills_with_0(self) -> bool:
        if "Metrics" not in self.properties:
            return False
        source, expression = self.properties["Metrics"]
        assert expression["Expression"] == f"FILL({source['Id']}, 0)"
        return True

    def _metric(self, stat: Mapping[str, Any]) -> Metric:
        dimensions = {each["Name"]: self._named(each["Value"]) for each in stat["Dimensions"]}
        return stat["Namespace"], stat["MetricName"], frozenset(dimensions.items())

    def _named(self, value: Any) -> str:
        return self.names[value["Ref"]] if isinstance(value, dict) else str(value)


def metric_of(alarm: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return Namespace, MetricName, Dimensions, Period and Stat of an alarm on one metric, which may be filled."""
    if "Metrics" not in alarm:
        return {**alarm, "Stat": alarm["Statistic"]}
    found: Mapping[str, Any] = alarm["Metrics"][0]["MetricStat"]
    return {**found["Metric"], **found}


def is_alarm(points: Sequence[bool | None], properties: Mapping[str, Any]) -> bool:
    """Return whether these periods put an alarm into ALARM. None: a period without a value."""
    periods, missing = int(properties["EvaluationPeriods"]), properties["TreatMissingData"]
    assert missing in ("breaching", "notBreaching")
    found = [each for each in points if each is not None][-periods:]
    breaching = sum(found) + (missing == "breaching") * (periods - len(found))
    return bool(breaching >= int(properties.get("DatapointsToAlarm", periods)))


def alarms(resources: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> Mapping[str, Alarm]:
    """Return the alarms by the name of their section in docs/how-to/on-call.md. resources: by logical id."""
    return {name.removesuffix("Alarm"): Alarm(each, names) for name, each in resources.items()}


def states(alarm: Alarm, metrics: Metrics, minutes: range) -> Iterator[bool]:
    """Yield whether the alarm is on at the end of each minute."""
    for end in minutes:
        yield alarm.is_on(metrics, end, minutes.start)
