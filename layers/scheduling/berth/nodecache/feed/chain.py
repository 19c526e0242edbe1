"""The chain through the log: how a reader tells published items from orphans and leftovers.

Every log item carries the epoch of what was published before it, and the head that of the newest. A version is packed
once in an epoch, so a version and its epoch name one content. Read backwards from the head, the chain therefore leads
from published item to published item; where it does not reach the reader's own version, something is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from berth.nodecache.feed.head import Published
from berth.nodecache.feed.table import LogItem


def leads(items: Sequence[LogItem], after: Published, through: Published) -> bool:
    """Whether these items, in ascending order, are all that was published between the two, and nothing else is."""
    if len(items) != through.version - after.version:
        return False
    version, epoch = through
    for item in reversed(items):
        if (item.version, item.epoch) != (version, epoch):
            return False
        version, epoch = version - 1, item.previous
    return epoch == after.epoch
