"""The ways in which kube-scheduler brings the candidates' scores to one scale."""

from __future__ import annotations

from collections.abc import Sequence

from berth.scheduling.framework import MAX_NODE_SCORE


def share_of_highest(scores: Sequence[int], *, reverse: bool = False) -> list[int]:
    """The highest becomes MAX_NODE_SCORE, the others in proportion; reversed, the lowest are best.

    kube-scheduler's DefaultNormalizeScore: where all are zero they stay so, or are all best when reversed.
    """
    highest = max(scores, default=0)
    if highest <= 0:
        return [MAX_NODE_SCORE if reverse else 0] * len(scores)
    if reverse:
        return [MAX_NODE_SCORE - MAX_NODE_SCORE * score // highest for score in scores]
    return [MAX_NODE_SCORE * score // highest for score in scores]


def spread_out(scores: Sequence[int]) -> list[int]:
    """The lowest becomes 0 and the highest MAX_NODE_SCORE; where all are equal, 0. As InterPodAffinity does."""
    if not scores:
        return []
    lowest = min(scores)
    span = max(scores) - lowest
    if not span:
        return [0] * len(scores)
    # The same steps in the same order as there: the rounding of floating point is part of the result.
    return [int(MAX_NODE_SCORE * ((score - lowest) / span)) for score in scores]
