"""What a run cost, from what CloudWatch counted. On demand, us-east-1, list prices of November 2026, no free tier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LAMBDA_REQUEST = 0.20 / 1e6
LAMBDA_GB_SECOND: Mapping[str, float] = {"arm64": 0.0000133334, "x86_64": 0.0000166667}
API_REQUEST = 1.00 / 1e6
WRITE_UNIT = 0.625 / 1e6
READ_UNIT = 0.125 / 1e6


@dataclass(frozen=True, slots=True)
class FunctionUsage:
    """A function's metrics. `milliseconds`: of all invocations, without the start of an environment."""

    name: str
    memory_mb: int
    architecture: str
    invocations: int
    milliseconds: float
    errors: int
    throttles: int

    @property
    def dollars(self) -> float:
        """Requests and GB-seconds."""
        gb_seconds = self.memory_mb / 1024 * self.milliseconds / 1000
        return self.invocations * LAMBDA_REQUEST + gb_seconds * LAMBDA_GB_SECOND[self.architecture]


@dataclass(frozen=True, slots=True)
class TableUsage:
    """Units of a table."""

    name: str
    write_units: float
    read_units: float

    @property
    def dollars(self) -> float:
        """Both kinds of units."""
        return self.write_units * WRITE_UNIT + self.read_units * READ_UNIT


def cost(functions: Sequence[FunctionUsage], tables: Sequence[TableUsage], api_requests: int) -> Iterator[str]:
    """Markdown: a line for each function and table, and the sum."""
    yield "| what | invocations | GB-seconds | errors | throttled | write units | read units | $ |"
    yield "|" + " --- |" * 8
    for each in functions:
        gb_seconds = each.memory_mb / 1024 * each.milliseconds / 1000
        yield (
            f"| {each.name} | {each.invocations} | {gb_seconds:.1f} | {each.errors} | {each.throttles} | | "
            f"| {each.dollars:.5f} |"
        )
    for table in tables:
        yield f"| {table.name} | | | | | {table.write_units:.0f} | {table.read_units:.0f} | {table.dollars:.5f} |"
    yield f"| API | {api_requests} | | | | | | {api_requests * API_REQUEST:.5f} |"
    usage = sum(each.dollars for each in functions) + sum(each.dollars for each in tables)
    total = usage + api_requests * API_REQUEST
    yield ""
    yield f"Together ${total:.4f}, without logs, metrics, alarms, secrets, data transfer and the start of environments."
