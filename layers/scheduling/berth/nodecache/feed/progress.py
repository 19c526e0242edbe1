"""How far the consumer has come with each resource: what it can resume from, and how old what it knows is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from berth.nodecache.feed.events import Added, Bookmark, Deleted, Ended, Listed, Modified, Received


@dataclass(frozen=True, slots=True)
class Position:
    """Where a watch can be resumed. Times are seconds since the epoch.

    `observed_at`: until when all that happened is known. `listed_at`: when all objects were last listed.
    """

    resource_version: str
    observed_at: float
    listed_at: float


def advanced(position: Position | None, received: Received) -> Position | None:
    """The position after an event, which need not differ from the one before."""
    match received.event:
        case Listed(resource_version=version):
            return Position(version, received.at, received.at)
        case (
            Added(resource_version=version)
            | Modified(resource_version=version)
            | Deleted(resource_version=version)
            | Bookmark(resource_version=version)
        ) if position is not None:
            return replace(position, resource_version=version, observed_at=received.at)
        case Ended() if position is not None:
            return replace(position, observed_at=received.at)
        case _:
            return position


class Progress:
    """For one thread."""

    def __init__(self, resources: Iterable[str], positions: Mapping[str, Position]) -> None:
        self._positions = {name: positions.get(name) for name in resources}

    def advance(self, received: Received) -> None:
        """Count an event as known."""
        self._positions[received.resource] = advanced(self._positions[received.resource], received)

    @property
    def positions(self) -> Mapping[str, Position]:
        """Of the resources that have been listed; what a successor resumes from."""
        return MappingProxyType({name: known for name, known in self._positions.items() if known is not None})

    @property
    def observed_at(self) -> float | None:
        """How old the data is: the oldest over all resources; None while one of them has not been listed."""
        known = self.positions.values()
        return min((position.observed_at for position in known), default=None) if self._complete else None

    @property
    def _complete(self) -> bool:
        return all(position is not None for position in self._positions.values())
