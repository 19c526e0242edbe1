"""Draws of a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Random choices that are the same for the same seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def between(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def one_of(self, choices: Sequence[T]) -> T:
        """Draw one of the choices with equal probability."""
        return self._random.choice(choices)

    def weighted(self, choices: Mapping[T, float]) -> T:
        """Draw one of the keys with a probability proportional to its weight."""
        return self._random.choices(tuple(choices), tuple(choices.values()))[0]

    def some_of(self, choices: Sequence[T], least: int, most: int) -> list[T]:
        return self._random.sample(choices, min(self.between(least, most), len(choices)))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self._random.sample(items, len(items))
