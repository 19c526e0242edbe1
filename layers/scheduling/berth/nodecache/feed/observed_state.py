"""The objects that the leader knows, and the changes that it has not published yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from berth.nodecache.feed.changes import Change, Key, Object


class ObjectsView:
    """The reader's state in a watcher: the objects themselves. It has one reader, so it is changed in place."""

    def empty(self) -> dict[Key, Object]:
        return {}

    def applied(self, state: dict[Key, Object], changes: Iterable[Change]) -> dict[Key, Object]:
        for resource, key, obj in changes:
            if obj is None:
                state.pop((resource, key), None)
            else:
                state[resource, key] = obj
        return state


class ObservedState:
    """Objects by resource and key, and the pending changes. For one thread.

    Of an object that changed more than once, the last state is pending. A removal before it stays: who learns from the
    changes must know that a pod is gone, even if another one has its name by then.
    """

    def __init__(self, objects: Mapping[Key, Object]) -> None:
        """`objects`: the published ones."""
        self.objects = dict(objects)
        self.events_without_name = 0
        """How many events had an object without a name; such an object cannot be stored."""
        self._changed: dict[Key, Object | None] = {}
        self._removed = set[Key]()

    def put(self, resource: str, obj: Object) -> None:
        """Add or replace an object. It is a change only if a field differs: a kubelet's heartbeat costs nothing."""
        name = key_of(obj)
        if name is None:
            self.events_without_name += 1
            return
        key = resource, name
        if self.objects.get(key) != obj:
            self.objects[key] = self._changed[key] = obj

    def remove(self, resource: str, obj: Object) -> None:
        """Remove an object; it need not be known."""
        name = key_of(obj)
        if name is None:
            self.events_without_name += 1
        else:
            self._drop((resource, name))

    def relist(self, resource: str, listed: Sequence[Object]) -> None:
        """Replace all objects of a resource: known objects that are not in the list are removed."""
        names = {key_of(obj) for obj in listed}
        for key in [key for key in self.objects if key[0] == resource and key[1] not in names]:
            self._drop(key)
        for obj in listed:
            self.put(resource, obj)

    def take_changes(self) -> list[Change]:
        """The changes since the last call."""
        changes = list[Change]()
        for key, obj in self._changed.items():
            if obj is not None and key in self._removed:
                changes.append(Change(*key, None))
            changes.append(Change(*key, obj))
        self._changed, self._removed = {}, set()
        return changes

    @property
    def has_changes(self) -> bool:
        """Whether changes are pending."""
        return bool(self._changed)

    def _drop(self, key: Key) -> None:
        if self.objects.pop(key, None) is not None:
            self._changed[key] = None
            self._removed.add(key)


def key_of(obj: Object) -> str | None:
    """`name`, or `namespace/name`; None if the object has no name."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return None
    namespace, name = metadata.get("namespace"), metadata.get("name")
    if not isinstance(name, str) or not name or not isinstance(namespace, str | None):
        return None
    return f"{namespace}/{name}" if namespace else name
