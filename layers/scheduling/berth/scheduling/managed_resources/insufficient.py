"""Why a node cannot have a pod, as far as resources are counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Insufficient:
    """Not enough is left of these resources. never: of one of them there was never enough."""

    resources: tuple[str, ...]
    never: bool

    @property
    def reasons(self) -> tuple[str, ...]:
        """One for each."""
        return tuple(map(insufficient, self.resources))

    @property
    def text(self) -> str:
        """The reasons as the pod's event shows them."""
        return ", ".join(self.reasons)


def insufficient(resource: str) -> str:
    """Why not, as NodeResourcesFit says it: constant (fact 17)."""
    return f"Insufficient {resource}"
