"""The port to the decisions that a console shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.health.calls import Call

MOST_AT_ONCE = 50
"""In one event, so that the first ones are shown while the others are read."""


class DecisionSource(ABC):
    """Safe to share between threads. Each decision has a number that no other one has; later ones have higher ones."""

    @abstractmethod
    def after(self, number: int) -> Sequence[Mapping[str, object]] | NotRead:
        """The next decisions with higher numbers, the oldest first: documents of records, each with its `number`. If
        there are MOST_AT_ONCE, more may follow. May take some hundred milliseconds. The first decision has number 1."""

    @abstractmethod
    def details(self, number: int) -> Mapping[str, object] | None:
        """The document of one decision, with `rejected`, the nodes that each reason rejects, `passed`, the nodes that
        none rejects, and `scores`. A reason may have more nodes (`count`) than it names, and so may `passed`
        (`feasible`). None: there is none of this number, or it is not kept any more."""

    @abstractmethod
    def calls(self) -> Sequence[Call] | NotRead:
        """All that are known, without their documents."""

    @abstractmethod
    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, object]]:
        """Those of a pod's name that are known, the oldest first: documents of records. Nothing is read for it."""

    @abstractmethod
    def of_node(self, node: str) -> Sequence[int] | NotRead:
        """The numbers of those that judged a node of this name: it was in the request, and its verdict is known. node:
        any text, also one that no node has. May take some ten milliseconds."""

    @property
    def sampling(self) -> str:
        """Which part of the calls is known, for people; empty for all of the last ones."""
        return ""


def without_verdicts(document: Mapping[str, object]) -> dict[str, object]:
    """The details of a record that names some nodes only, or none: those of its reasons, and those that it accepts."""
    best, victims = document["best"], document["victims"]
    assert isinstance(best, list)
    assert isinstance(victims, dict)
    chosen = [document["chosen"]] if document["chosen"] and document["feasible"] != 0 else []
    passed = dict.fromkeys([*chosen, *victims])
    return {**document, "rejected": document["reasons"], "passed": list(passed), "scores": best}
