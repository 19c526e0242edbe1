"""When an applied document has taken effect: from then on no verb decides by the document before it.

The head has the document's hash at once, but some verbs read the head at intervals only: bind, and every verb where
`minHeadReadInterval` says so. No answer proves that all warm environments of a function have read it, because nobody
can address each of them. So the proof is the time: the longest interval, and the longest call that may have begun
before its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from berth.configuration.counting import REFRESH_SECONDS
from berth.runtime.http.deadline import LONGEST_WAIT_SECONDS

LONGEST_INTERVAL = 60.0
"""Of `minHeadReadInterval`."""


@dataclass(frozen=True, slots=True)
class EffectDelay:
    """interval: the longest for which a verb does not look for another document. call: the longest call. In seconds."""

    interval: float
    call: float

    @property
    def seconds(self) -> float:
        """After the document was stored."""
        return self.interval + self.call

    @property
    def cause(self) -> str:
        """What takes so long."""
        return (
            f"until every verb decides by the document: one may read it {self.interval:g} s late, and a call that has "
            f"begun takes up to {self.call:g} s"
        )


def effect_delay(before: str | None, http_timeout: str) -> EffectDelay:
    """before: the applied document until now, as JSON; None: none was applied. http_timeout: of the scheduler, in
    seconds; empty: unknown."""
    call = float(http_timeout) if http_timeout else LONGEST_WAIT_SECONDS
    return EffectDelay(max(REFRESH_SECONDS, _head_interval(before)), call)


def _head_interval(document: str | None) -> float:
    """`minHeadReadInterval` of this document. It decides until a verb has read the next one."""
    try:
        content = orjson.loads(document or "{}")
    except orjson.JSONDecodeError:
        # Written by hand, and about to be replaced: which document the verbs decided by is unknown.
        return LONGEST_INTERVAL
    match content:
        case {"nodeCache": {"minHeadReadInterval": int() | float() as seconds}}:
            return float(seconds)
    return 0.0
