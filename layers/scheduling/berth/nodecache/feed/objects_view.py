"""What a watcher reads: the objects that its predecessor published, to go on from them."""

from __future__ import annotations

from collections.abc import Iterable

from berth.nodecache.feed.changes import Change, Key, Object


class ObjectsView:
    """The reader's state for a watcher: the objects themselves. Nobody else reads it, so it is changed in place."""

    def empty(self) -> dict[Key, Object]:
        return {}

    def applied(self, state: dict[Key, Object], changes: Iterable[Change]) -> dict[Key, Object]:
        for resource, key, kept in changes:
            if kept is None:
                state.pop((resource, key), None)
            else:
                state[resource, key] = kept
        return state
