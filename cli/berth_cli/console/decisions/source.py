"""The port to the decisions that a console shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.health.calls import Call

MOST_AT_ONCE = 50
"""Scores by plugin are computed for each that is sent."""


class DecisionSource(ABC):
    """Safe to share between threads. Each decision has a number that no other one has; later ones have higher ones."""

    @abstractmethod
    def after(self, number: int) -> Sequence[Mapping[str, object]] | NotRead:
        """The newest decisions with higher numbers, at most MOST_AT_ONCE, the oldest first. Documents of records, each
        with its `number`. May take some hundred milliseconds. The first decision has number 1."""

    @abstractmethod
    def details(self, number: int) -> Mapping[str, object] | None:
        """The document of one decision, with `rejected`, the nodes that each reason rejects, and `scores`. A reason may
        have more nodes (`count`) than it names. None: there is none of this number, or it is not kept any more."""

    @abstractmethod
    def calls(self) -> Sequence[Call]:
        """All that are known, without their documents."""
