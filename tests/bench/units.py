"""The DynamoDB units of calls and flushes, counted from the requests."""

from __future__ import annotations

from collections.abc import Iterator

from berth.nodecache.feed.head import Pointer
from tests.bench.figures import Family, Figure
from tests.capacity.item_size import read_units, write_units
from tests.capacity.metered_feed import LOG, Feed, Meter, feed_on_a_table, sample
from tests.fakes.moto_dynamodb import MotoDynamoDB

CHANGES = (13, 250)


def families() -> Iterator[Family]:
    """One family."""
    yield Family("cache.units", _measure)


def _measure() -> Iterator[Figure]:
    MotoDynamoDB().install()
    with feed_on_a_table() as feed:
        feed.flush(*sample(10))
        feed.catch_up()
        meter = Meter(feed.client)
        feed.catch_up()
        yield Figure("cache.units.read.unchanged", sum(meter.reads.values()), "read units", 1)
        for changes in CHANGES:
            before, meter = _pointer(feed), Meter(feed.client)
            feed.flush(*sample(changes))
            packed = _pointer(feed).log_bytes - before.log_bytes
            written = meter.writes[LOG] + write_units(feed.head_size())
            yield Figure(f"cache.units.write.flush_of_{changes}", written, "write units", 2 + write_units(packed))
            meter = Meter(feed.client)
            feed.catch_up()
            target = 1 + read_units(packed)
            yield Figure(f"cache.units.read.after_{changes}_changes", sum(meter.reads.values()), "read units", target)


def _pointer(feed: Feed) -> Pointer:
    head = feed.table.head()
    assert head is not None
    assert head.pointer is not None
    return head.pointer
