"""The integration tests of upstream that run, and their modes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """The component that evaluates the rules.

    WITHOUT: the scheduler alone. BESIDE: the scheduler's own plugins, and Berth with the same plugins. ALONE: Berth,
    for the plugins of its profile `full` that the scheduler's profile has; the scheduler keeps its other plugins.
    """

    WITHOUT = "without"
    BESIDE = "beside"
    ALONE = "alone"


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    modes: tuple[Mode, ...] = tuple(Mode)

    @property
    def package(self) -> str:
        """Return the package as Go expects it, without the leading ./"""
        return f"test/integration/scheduler/{self.name}"


# kube-scheduler's dry run does not call extenders (fact 15): if only Berth rejects, nothing is preempted.
PREEMPTING = (Mode.WITHOUT, Mode.BESIDE)

SUITES = (
    Suite("extender"),
    Suite("filters"),
    Suite("scoring"),
    Suite("taint"),
    Suite("preemption", PREEMPTING),
    Suite("preemption/misc", PREEMPTING),
    Suite("preemption/nominatednodename", PREEMPTING),
)


def suites(names: Container[str]) -> list[Suite]:
    return [suite for suite in SUITES if suite.name in names]
