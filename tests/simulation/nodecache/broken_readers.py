"""Readers with one rule left out. Each loses data or applies unpublished data; the simulation must notice.
spec/fails has most of them too.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.nodecache.feed import reader
from berth.nodecache.feed.reader import NodeCacheReader
from berth_cli.server.store.cache_table import InMemoryCacheTable
from tests.simulation.broken import functions_of

BEYOND = 5_000

# The patches are methods with the types of the methods that they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def cursor_is_the_last_version_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader applies every item in the log, published or not."""
    along = NodeCacheReader._replay_log

    def beyond(self, uid, start, state, pointer):
        items = self._table.log(uid, pointer.version, dict.fromkeys(start.newest, BEYOND))
        newest = {**pointer.newest, **{item.part: item.published for item in items}}
        latest = max(newest.values())
        pointer = replace(pointer, version=latest.version, last_epoch=latest.epoch, newest=newest)
        return along(self, uid, start, state, pointer)

    monkeypatch.setattr(NodeCacheReader, "_replay_log", beyond)


def log_without_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader follows the global version: all items of its parts up to this version count as published."""
    monkeypatch.setattr(
        reader, "published_items", lambda items, since, through: sorted(items, key=lambda item: item.version)
    )


def chain_followed_forwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader goes forward from an item to the next item that links to it, which may be an orphan."""

    def forwards(items, since, through):
        found = []
        for part, start in since.items():
            place = start
            for item in sorted(items, key=lambda item: item.version):
                if item.part is part and item.previous == place:
                    found.append(item)
                    place = item.published
        return sorted(found, key=lambda item: item.version)

    monkeypatch.setattr(reader, "published_items", forwards)


def chain_of_versions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links do not contain the epoch: an orphan may stand in the place of the published item."""

    def by_version(items, since, through):
        left = {(item.part, item.version): item for item in items}
        found = []
        for part, start in since.items():
            version = through[part].version
            while version > start.version:
                item = left.pop((part, version), None)
                if item is None:
                    return None
                found.append(item)
                version = item.previous.version
        return sorted(found, key=lambda item: item.version)

    monkeypatch.setattr(reader, "published_items", by_version)


def chain_of_versions_alone_without_compacted_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """As chain_of_versions_alone; the reader also follows links into a part of the log that may have been cleaned."""
    following = NodeCacheReader._cursor_for

    def below(self, uid, pointer, parts, *, is_current):
        return following(self, uid, replace(pointer, compacted_version=0), parts, is_current=is_current)

    chain_of_versions_alone(monkeypatch)
    monkeypatch.setattr(NodeCacheReader, "_cursor_for", below)


def further_part_at_an_older_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow thread loads a part that its environment lacks, at the outdated head that the thread has read."""
    following = NodeCacheReader._cursor_for

    def whatever(self, uid, pointer, parts, *, is_current):
        cursor = self._cursor
        if cursor is not None and cursor.version > pointer.version and not parts <= cursor.parts:
            return self._load_snapshot(uid, pointer, cursor.parts | parts)
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(NodeCacheReader, "_cursor_for", whatever)


def further_part_from_the_log_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that needs a further part continues from its version, as if it already had that part."""
    following = NodeCacheReader._cursor_for

    def as_if(self, uid, pointer, parts, *, is_current):
        if self._cursor is not None:
            further = {part: pointer.newest[part] for part in parts}
            self._cursor = replace(self._cursor, newest={**further, **self._cursor.newest})
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(NodeCacheReader, "_cursor_for", as_if)


def log_key_without_the_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recreated head reuses the versions and epochs of the old head, and takes the old head's log for its own."""
    log, put_log = InMemoryCacheTable.log, InMemoryCacheTable.put_log
    monkeypatch.setattr(InMemoryCacheTable, "log", lambda self, uid, *rest: log(self, "", *rest))
    monkeypatch.setattr(InMemoryCacheTable, "put_log", lambda self, uid, *rest: put_log(self, "", *rest))


def cursor_without_the_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader does not notice that the head was recreated at version 0."""
    following = NodeCacheReader._cursor_for

    def same(self, uid, pointer, parts, *, is_current):
        if self._cursor is not None:
            self._cursor = replace(self._cursor, uid=uid)
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(NodeCacheReader, "_cursor_for", same)


def old_head_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow thread takes its environment back to the older head that the thread has read."""
    following, has = NodeCacheReader._cursor_for, reader._Cursor.has

    def of_this_head(self, uid, pointer, parts):
        return self.version <= pointer.version and has(self, uid, pointer, parts)

    def whatever(self, uid, pointer, parts, *, is_current):
        cursor = self._cursor
        if cursor is not None and cursor.version > pointer.version:
            return self._load_snapshot(uid, pointer, cursor.parts | parts)
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(reader._Cursor, "has", of_this_head)
    monkeypatch.setattr(NodeCacheReader, "_cursor_for", whatever)


def parts_at_hand_whatever_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that finds its parts loaded returns them without checking the head."""
    monkeypatch.setattr(
        reader._Cursor, "has", lambda self, uid, pointer, parts: uid == self.uid and self.newest.keys() >= parts
    )


BROKEN_READERS = functions_of(globals(), "monkeypatch")
