"""Matches many conjunctions of requirements against labels at once.

A pod may have 18,000 node affinity terms. The cost of matching depends on the number of labels, not on the number of
terms. Each conjunction is a bit, and each label of a node clears the bits of conjunctions that it contradicts. The bits
form a Python integer, so that one operation acts on all conjunctions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from berth.scheduling.fields.requirements import Labels, Operator, Requirement, read_integer

_LONG = 64
"""The number of bits in a list above which its integer is cached, because few label values have such a long list."""

_MAX_KEY_SETS = 256
_BLOCK = 256

_Bits = Sequence[int]
_NONE: _Bits = ()


class RequirementIndex:
    """Finds the conjunctions that match labels. Thread-safe."""

    __slots__ = ("_all", "_by_key", "_by_keys_present", "_indexes", "_needed", "_size")

    def __init__(self, conjunctions: Iterable[Iterable[Requirement] | None]) -> None:
        """Index the conjunctions. None: a conjunction that never matches."""
        by_key: dict[str, list[tuple[int, Requirement]]] = {}
        needed: list[int] = []
        never = []
        for bit, conjunction in enumerate(conjunctions):
            keys = set()
            if conjunction is None:
                never.append(bit)
            for each in conjunction or ():
                by_key.setdefault(each.key, []).append((bit, each))
                if each.operator not in (Operator.NOT_IN, Operator.DOES_NOT_EXIST):
                    keys.add(each.key)
            needed.append(len(keys))
        self._by_key, self._size = by_key, len(needed)
        self._all = ((1 << len(needed)) - 1) & ~as_bits(never, len(needed))
        # For each binary digit of the number of needed labels: the bits of the conjunctions with this digit set.
        self._needed = [
            as_bits([bit for bit, number in enumerate(needed) if number >> digit & 1], self._size)
            for digit in range(max(needed, default=0).bit_length())
        ]
        self._indexes: dict[str, _KeyIndex] = {}
        self._by_keys_present: dict[frozenset[str], int] = {}

    def matching(self, labels: Labels) -> int:
        """Return an integer in which the bits of the matching conjunctions are set."""
        present = frozenset(self._by_key.keys() & labels.keys())
        found = self._by_keys_present.get(present)
        if found is None:
            found = self._with_needed_keys(present)
            if len(self._by_keys_present) < _MAX_KEY_SETS:
                self._by_keys_present[present] = found
        for key in present:
            if not found:
                break
            found &= self._of_key(key).matching(labels[key])
        return found

    def _with_needed_keys(self, present: Iterable[str]) -> int:
        counts: list[int] = []
        for key in present:
            carry = self._of_key(key).needing
            for digit, count in enumerate(counts):
                counts[digit], carry = count ^ carry, count & carry
            if carry:
                counts.append(carry)
        differing = 0
        for digit in range(max(len(counts), len(self._needed))):
            count = counts[digit] if digit < len(counts) else 0
            differing |= count ^ (self._needed[digit] if digit < len(self._needed) else 0)
        return self._all & ~differing

    def _of_key(self, key: str) -> _KeyIndex:
        found = self._indexes.get(key)
        if found is None:
            found = self._indexes[key] = _KeyIndex(self._by_key[key], self._size)
        return found


@dataclass(slots=True)
class _Merged:
    """The requirements of one conjunction on one label. allowed: the allowed values; None if any value is allowed."""

    allowed: frozenset[str] | None = None
    denied: set[str] = field(default_factory=set)
    absent: bool = False
    needed: bool = False
    above: int | None = None
    below: int | None = None

    def add(self, each: Requirement) -> None:
        self.needed = self.needed or each.operator not in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
        match each.operator:
            case Operator.IN:
                self.allowed = each.values if self.allowed is None else self.allowed & each.values
            case Operator.NOT_IN:
                self.denied |= each.values
            case Operator.DOES_NOT_EXIST:
                self.absent = True
            case Operator.GT:
                self.above = each.bound if self.above is None else max(self.above, each.bound)
            case Operator.LT:
                self.below = each.bound if self.below is None else min(self.below, each.bound)
            case Operator.EXISTS:
                pass

    def values(self) -> Iterable[str]:
        left = (self.allowed or frozenset()) - self.denied
        if self.above is None and self.below is None:
            return left
        return [value for value in left if self._is_within(value)]

    def _is_within(self, value: str) -> bool:
        number = read_integer(value)
        return (
            number is not None
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


class _KeyIndex:
    """Finds the conjunctions that a value of one label does not contradict."""

    __slots__ = ("_above", "_allowed", "_below", "_bounded", "_denied", "_long", "_otherwise", "_size", "needing")

    def __init__(self, requirements: Iterable[tuple[int, Requirement]], size: int) -> None:
        merged: dict[int, _Merged] = {}
        for bit, each in requirements:
            merged.setdefault(bit, _Merged()).add(each)
        self._size = size
        self._allowed: dict[str, list[int]] = {}
        self._denied: dict[str, list[int]] = {}
        above, below, excluded = [], [], []
        for bit, one in merged.items():
            if one.absent or one.allowed is not None:
                excluded.append(bit)
                for value in () if one.absent else one.values():
                    self._allowed.setdefault(value, []).append(bit)
                continue
            for value in one.denied:
                self._denied.setdefault(value, []).append(bit)
            if one.above is not None:
                above.append((one.above, bit))
            if one.below is not None:
                below.append((one.below, bit))
        self._above, self._below = _Bounds(above, size), _Bounds(below, size)
        self._bounded = as_bits([bit for _, bit in (*above, *below)], size)
        self._otherwise = (1 << size) - 1 & ~as_bits(excluded, size)
        self._long: dict[int, int] = {}
        self.needing = as_bits([bit for bit, one in merged.items() if one.needed], size)
        """The conjunctions that need this label."""

    def matching(self, value: str) -> int:
        """Return an integer in which the bits of the conjunctions that this value does not contradict are set."""
        found = self._otherwise & ~self._integer(self._denied.get(value, _NONE))
        if self._bounded:
            number = read_integer(value)
            if number is None:
                found &= ~self._bounded
            else:
                found &= ~(self._above.at_least(number) | self._below.at_most(number))
        return found | self._integer(self._allowed.get(value, _NONE))

    def _integer(self, bits: _Bits) -> int:
        if len(bits) <= _LONG:
            return as_bits(bits, self._size)
        found = self._long.get(id(bits))
        if found is None:
            found = self._long[id(bits)] = as_bits(bits, self._size)
        return found


class _Bounds:
    """Conjunctions in the order of their bounds. `_sums`: for each block, the bits of all conjunctions before it."""

    __slots__ = ("_bits", "_bounds", "_size", "_sums")

    def __init__(self, bounds: list[tuple[int, int]], size: int) -> None:
        bounds.sort()
        self._bounds = [bound for bound, _ in bounds]
        self._bits = [bit for _, bit in bounds]
        self._size = size
        self._sums = [0]
        for start in range(0, len(bounds), _BLOCK):
            self._sums.append(self._sums[-1] | as_bits(self._bits[start : start + _BLOCK], size))

    def at_least(self, number: int) -> int:
        return self._sums[-1] & ~self._before(bisect_left(self._bounds, number))

    def at_most(self, number: int) -> int:
        return self._before(bisect_right(self._bounds, number))

    def _before(self, end: int) -> int:
        block = end // _BLOCK
        return self._sums[block] | as_bits(self._bits[block * _BLOCK : end], self._size)


def as_bits(bits: _Bits, size: int) -> int:
    if len(bits) == 0:
        return 0
    if len(bits) == 1:
        return 1 << bits[0]
    found = bytearray((size >> 3) + 1)
    for bit in bits:
        found[bit >> 3] |= 1 << (bit & 7)
    return int.from_bytes(found, "little")


class WeightSum:
    """Sums the weights of the items whose bits are set."""

    __slots__ = ("_digits",)

    def __init__(self, weights: Sequence[int]) -> None:
        digits: list[tuple[int, int]] = []
        for sign in (1, -1):
            amounts = [max(0, sign * weight) for weight in weights]
            for digit in range(max(amounts, default=0).bit_length()):
                having = [bit for bit, amount in enumerate(amounts) if amount >> digit & 1]
                digits.append((sign * (1 << digit), as_bits(having, len(weights))))
        self._digits = digits

    def of(self, bits: int) -> int:
        return sum(value * (bits & having).bit_count() for value, having in self._digits)
