"""From the weighted totals of a profile to the extender's scale.

kube-scheduler multiplies an extender's score by its weight and by ten, and adds it to its own plugins' totals. It does
not look whether the score is in the range of 0 to 10 (fact 18); but only in that range does an extender of weight 1
count as much as one of the scheduler's plugins. Eleven integers cannot tell thousands of totals apart. What is kept,
the first before the second and so on:

- the order: a node with a higher total never gets a lower score;
- the best: MAX_EXTENDER_PRIORITY goes to the nodes with the highest total and to no other;
- differences: as many different scores as there are different totals, up to all eleven;
- proportion.

Totals that fall on one score are a tie, which the scheduler's own scores decide. Who cannot have that sends the totals
themselves (Scale.TOTALS), and lets Berth outweigh the scheduler's plugins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

MAX_EXTENDER_PRIORITY = 10


def extender_scale(totals: Sequence[int]) -> list[int]:
    """A score of 0 to 10 for each total. Where all are equal, all are best."""
    distinct = sorted(set(totals))
    if len(distinct) < 2:
        return [MAX_EXTENDER_PRIORITY] * len(totals)
    few = len(distinct) <= MAX_EXTENDER_PRIORITY + 1
    scores = _told_apart(distinct) if few else _in_eleven_groups(distinct)
    by_total = dict(zip(distinct, scores, strict=True))
    return [by_total[total] for total in totals]


def _told_apart(distinct: Sequence[int]) -> list[int]:
    """A score of its own for each of at most eleven ascending totals."""
    lowest, span = distinct[0], distinct[-1] - distinct[0]
    scores = [(total - lowest) * MAX_EXTENDER_PRIORITY // span for total in distinct]
    return _ascending(scores, MAX_EXTENDER_PRIORITY)


def _in_eleven_groups(distinct: Sequence[int]) -> list[int]:
    """Scores for more than eleven ascending totals: where each score begins, in proportion as far as none is empty."""
    lowest, span, last = distinct[0], distinct[-1] - distinct[0], len(distinct) - 1
    begins = [
        bisect_left(distinct, lowest + -(-span * score // MAX_EXTENDER_PRIORITY))
        for score in range(MAX_EXTENDER_PRIORITY)
    ]
    begins = [*_ascending(begins, last - 1), last]
    scores: list[int] = []
    for score, (begin, end) in enumerate(zip(begins, [*begins[1:], last + 1], strict=True)):
        scores += [score] * (end - begin)
    return scores


def _ascending(numbers: Sequence[int], highest: int) -> list[int]:
    """Ascending integers made strictly ascending, none above `highest`; there is room for all of them."""
    found = list(numbers)
    for index in range(1, len(found)):
        found[index] = max(found[index], found[index - 1] + 1)
    room = highest - len(found) + 1
    return [min(number, room + index) for index, number in enumerate(found)]
