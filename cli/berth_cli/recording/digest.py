"""A short text that two equal decisions have in common, and no others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from berth.scheduling.evaluation.verdicts import FilterResult

EXEMPT = "exempt"


def digest_of_verdicts(verdicts: FilterResult | None, chosen: str = "") -> str:
    """Of filter and filter_onlyone: which nodes pass, and the plugin and the reason of every other. None: exempt."""
    if verdicts is None:
        return EXEMPT
    rejected = verdicts.rejected
    texts = [rejection_text(status.code.value, status.plugin, status.message) for status in rejected.statuses]
    return digest_of_rejections(verdicts.mask, rejected.for_each_node(texts), chosen)


def digest_of_rejections(mask: bytes, texts: Iterable[str], chosen: str) -> str:
    """The same from its parts. texts: `rejection_text` of each rejected node."""
    return _digest(bytes(mask), "\n".join(texts).encode(), chosen.encode())


def rejection_text(code: str, plugin: str, message: str) -> str:
    """What decides whether two rejections are the same."""
    return f"{code}\0{plugin}\0{message}"


def digest_of_scores(scores: Sequence[int]) -> str:
    """Of prioritize."""
    return _digest(",".join(map(str, scores)).encode())


def _digest(*parts: bytes) -> str:
    found = hashlib.blake2b(digest_size=12)
    for part in parts:
        found.update(len(part).to_bytes(8))
        found.update(part)
    return found.hexdigest()
