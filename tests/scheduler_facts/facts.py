"""Facts that differ, or might differ, between the versions of kube-scheduler: one value per fact, kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

# Limits for calls in 20 s: back-off alone causes five to ten, a loop hundreds, a pod that waits for an event two.
LOOP, FEW = 50, 4
# Milliseconds; a pod that no event wakes waits for minutes.
SOON = 5000
# Calls a second for 30 pods; back-off alone makes three to six.
STORM = 12

MEASURED = Path(__file__).parent / "measured"


class EmptyVictims(StrEnum):
    """The outcome of a preemption if the extender answers with a node that has no victims (fact 27)."""

    ERROR = "error"
    PREEMPTS = "the node is nominated"
    NOTHING = "no preemption"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The values of one version. The numbers of the contract's facts are in tools/reference/kubernetes_versions.py.

    Calls are counts; `retry_storm` is calls a second; the wake-ups are medians in milliseconds.
    """

    kubernetes: str
    failed_nodes: int
    preempt_after_failed_nodes: int
    unresolvable_nodes: int
    errors: int
    wake_up_by_storage_capacity: int
    wake_up_by_node: int
    wake_up_by_own_annotation: int
    retry_storm: float
    preempt_calls: int
    nodes_asked_for_nominated_pod: int
    empty_victims: EmptyVictims
    prioritize_of_one_node: int
    placed_on_fuller_node: int

    def behaviour(self) -> dict[str, object]:
        """Return the meaning of the values by field, which does not differ between measurements as the values do."""
        return {
            "failed_nodes": self.failed_nodes > LOOP,
            "preempt_after_failed_nodes": self.preempt_after_failed_nodes > 0,
            "unresolvable_nodes": self.unresolvable_nodes > FEW,
            "errors": self.errors > LOOP,
            "wake_up_by_storage_capacity": self.wake_up_by_storage_capacity > SOON,
            "wake_up_by_node": self.wake_up_by_node > SOON,
            "wake_up_by_own_annotation": self.wake_up_by_own_annotation > SOON,
            "retry_storm": self.retry_storm > STORM,
            "preempt_calls": self.preempt_calls,
            "nodes_asked_for_nominated_pod": self.nodes_asked_for_nominated_pod,
            "empty_victims": self.empty_victims,
            "prioritize_of_one_node": self.prioritize_of_one_node,
            "placed_on_fuller_node": self.placed_on_fuller_node > 0,
        }

    @classmethod
    def read(cls, path: Path) -> Self:
        values = json.loads(path.read_text())
        return cls(**{**values, "empty_victims": EmptyVictims(values["empty_victims"])})

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")
