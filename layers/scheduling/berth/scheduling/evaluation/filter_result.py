"""The nodes of a request, divided: those that pass, and those that are dropped, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter

from berth.scheduling.framework.status import SUCCESS, Status
from berth.scheduling.snapshot.node_positions import NodeRefs, picked


class Rejected(Mapping[str, Status]):
    """Nodes that do not pass, and why. names: in the request's order."""

    __slots__ = ("_by_name", "_codes", "_legend", "names")

    def __init__(self, names: list[str], codes: Sequence[int], legend: Sequence[Status]) -> None:
        """Names, each once, and a code for each; legend: the status that a code stands for, by code."""
        self.names, self._codes, self._legend = names, codes, legend
        self._by_name: dict[str, Status] | None = None

    @classmethod
    def of(cls, statuses: Mapping[str, Status]) -> Rejected:
        """By name."""
        return cls(list(statuses), range(len(statuses)), list(statuses.values()))

    @property
    def messages(self) -> dict[str, str]:
        """The reasons as the pod's event shows them."""
        return dict(zip(self.names, self.texts(_message), strict=True))

    def texts(self, text: Callable[[Status], str]) -> Sequence[str]:
        """A text for each of them, in the same order. It is made once for each different status."""
        return picked([text(status) for status in self._legend], self._codes)

    def __getitem__(self, name: str) -> Status:
        if self._by_name is None:
            self._by_name = dict(zip(self.names, picked(self._legend, self._codes), strict=True))
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


NO_ONE = Rejected([], (), ())
_message = attrgetter("message")


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Which nodes of a request pass, and why the others do not. mask: a byte for each node, 0 for the dropped ones."""

    located: NodeRefs
    dropped: Rejected
    mask: bytes

    @property
    def names(self) -> list[str]:
        """Those that pass."""
        return list(compress(self.located.names, self.mask)) if self.dropped else self.located.names

    @property
    def passed(self) -> NodeRefs:
        """The same, with their positions."""
        return self.located.picked(self.mask) if self.dropped else self.located

    def amended(self, statuses: Mapping[str, Status]) -> FilterResult:
        """With other statuses of some of the nodes."""
        found = {name: statuses.get(name) or self.dropped.get(name, SUCCESS) for name in self.located}
        dropped = {name: status for name, status in found.items() if status is not SUCCESS}
        mask = bytes(name not in dropped for name in self.located)
        return FilterResult(self.located, Rejected.of(dropped), mask)
