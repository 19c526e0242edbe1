"""A short text that two equal decisions have in common, and no others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from berth.scheduling.evaluation.verdicts import FilterResult

EXEMPT = "exempt"


def digest_of_verdicts(verdicts: FilterResult | None, chosen: str = "") -> str:
    """Of filter and filter_onlyone: which nodes pass, and the plugin and the reason of every other. None: exempt."""
    if verdicts is None:
        return EXEMPT
    rejected = verdicts.rejected
    texts = [f"{status.code.value}\0{status.plugin}\0{status.message}" for status in rejected.statuses]
    return _digest(bytes(verdicts.mask), "\n".join(rejected.for_each_node(texts)).encode(), chosen.encode())


def digest_of_scores(scores: Sequence[int]) -> str:
    """Of prioritize."""
    return _digest(",".join(map(str, scores)).encode())


def _digest(*parts: bytes) -> str:
    found = hashlib.blake2b(digest_size=12)
    for part in parts:
        found.update(len(part).to_bytes(8))
        found.update(part)
    return found.hexdigest()
