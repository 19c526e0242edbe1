"""Taints of nodes and the tolerations of pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from berth.scheduling.fields.reading import read_object_list, read_string

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """Format the taint as kubectl does."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def forbids(self) -> bool:
        """Return whether the effect rejects pods. PreferNoSchedule only affects scores; unknown effects are ignored."""
        return self.effect in (NO_SCHEDULE, NO_EXECUTE)


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str
    operator: str
    value: str
    effect: str


class TolerationIndex:
    """The tolerations of a pod, indexed by the taints that they tolerate. An empty key matches every key, and an empty
    effect matches every effect. The operators Lt and Gt never match: their feature gate is off in 1.36."""

    __slots__ = ("_equal", "_exists")

    def __init__(self, tolerations: Sequence[Toleration]) -> None:
        self._exists = {(each.key, each.effect) for each in tolerations if each.operator == "Exists"}
        self._equal = {(each.key, each.effect, each.value) for each in tolerations if each.operator in ("", "Equal")}

    def tolerates(self, taint: Taint) -> bool:
        for key in (taint.key, ""):
            for effect in (taint.effect, ""):
                if (key, effect) in self._exists or (key, effect, taint.value) in self._equal:
                    return True
        return False

    def untolerated(self, taints: Iterable[Taint]) -> list[Taint]:
        """Return the taints that reject the pod."""
        return [each for each in taints if each.forbids and not self.tolerates(each)]

    def repelled_by(self, taints: Iterable[Taint]) -> bool:
        return any(taint.forbids and not self.tolerates(taint) for taint in taints)


def read_taints(value: object) -> tuple[Taint, ...]:
    """Read the taints of a node's spec. Raises MalformedField."""
    names = ("key", "value", "effect")
    return tuple(Taint(*texts) for texts in _read_texts(value, "Node.spec.taints", names))


def read_tolerations(value: object) -> tuple[Toleration, ...]:
    """Read the tolerations of a pod's spec. Raises MalformedField."""
    names = ("key", "operator", "value", "effect")
    return tuple(Toleration(*texts) for texts in _read_texts(value, "Pod.spec.tolerations", names))


def _read_texts(value: object, path: str, names: Sequence[str]) -> Iterator[list[str]]:
    for item in read_object_list(value, path):
        yield [read_string(item.get(name), f"{path}[].{name}") for name in names]
