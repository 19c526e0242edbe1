"""What a run cost, from what CloudWatch counted, at the list prices of tools/cost/prices.py. No free tier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.cost.prices import API_REQUEST, LAMBDA_GB_SECOND, LAMBDA_REQUEST, READ_UNIT, WRITE_UNIT


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
        return self.invocations * LAMBDA_REQUEST.dollars + gb_seconds * LAMBDA_GB_SECOND[self.architecture].dollars


@dataclass(frozen=True, slots=True)
class TableUsage:
    """Units of a table."""

    name: str
    write_units: float
    read_units: float

    @property
    def dollars(self) -> float:
        """Both kinds of units."""
        return self.write_units * WRITE_UNIT.dollars + self.read_units * READ_UNIT.dollars


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
    yield f"| API | {api_requests} | | | | | | {api_requests * API_REQUEST.dollars:.5f} |"
    usage = sum(each.dollars for each in functions) + sum(each.dollars for each in tables)
    total = usage + api_requests * API_REQUEST.dollars
    yield ""
    yield f"Together ${total:.4f}, without logs, metrics, alarms, secrets, data transfer and the start of environments."
