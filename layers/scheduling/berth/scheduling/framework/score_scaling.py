"""Scales scores: normalizes a plugin's scores, and fits a profile's totals to the extender's range."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from berth.scheduling.framework.plugin import MAX_NODE_SCORE


def default_normalize_score(scores: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Scale scores in proportion, so that the highest becomes MAX_NODE_SCORE. reverse: the lowest scores are best. As
    in kube-scheduler, scores that are all 0 stay 0, or all become MAX_NODE_SCORE with `reverse`."""
    highest = max(scores, default=0)
    if highest <= 0:
        return [MAX_NODE_SCORE if reverse else 0] * len(scores)
    if reverse:
        return [MAX_NODE_SCORE - MAX_NODE_SCORE * score // highest for score in scores]
    return [MAX_NODE_SCORE * score // highest for score in scores]


def min_max_normalize(scores: Sequence[int]) -> list[int]:
    """Scale the lowest score to 0 and the highest to MAX_NODE_SCORE, for InterPodAffinity. Equal scores become 0."""
    if not scores:
        return []
    lowest = min(scores)
    span = max(scores) - lowest
    if not span:
        return [0] * len(scores)
    # Keep the operations in kube-scheduler's order, because the floating-point rounding depends on it.
    return [int(MAX_NODE_SCORE * ((score - lowest) / span)) for score in scores]


MAX_EXTENDER_PRIORITY = 10


def extender_scale(totals: Sequence[int]) -> list[int]:
    """Return a score of 0 to 10 for each total. If all totals are equal, all get 10."""
    distinct = sorted(set(totals))
    if len(distinct) < 2:
        return [MAX_EXTENDER_PRIORITY] * len(totals)
    if len(distinct) > MAX_EXTENDER_PRIORITY + 1:
        scores = _in_eleven_groups(distinct)
    else:
        lowest, span = distinct[0], distinct[-1] - distinct[0]
        in_proportion = [(total - lowest) * MAX_EXTENDER_PRIORITY // span for total in distinct]
        scores = _ascending(in_proportion, MAX_EXTENDER_PRIORITY)
    by_total = dict(zip(distinct, scores, strict=True))
    return [by_total[total] for total in totals]


def _in_eleven_groups(distinct: Sequence[int]) -> list[int]:
    """Score more than eleven ascending totals in proportion, but so that every score from 0 to 10 occurs."""
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
    """Make ascending integers strictly ascending and at most `highest`, which must leave room for all of them."""
    found = list(numbers)
    for index in range(1, len(found)):
        found[index] = max(found[index], found[index - 1] + 1)
    room = highest - len(found) + 1
    return [min(number, room + index) for index, number in enumerate(found)]
