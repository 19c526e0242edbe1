"""What the leader knows of the cluster, and which part of it is not published yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from berth.nodecache.feed.changes import Change, Key, Object


class ObjectsView:
    """The reader's state for a watcher: the objects themselves. Nobody else reads it, so it is changed in place."""

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
    """Objects by resource and key, and the changes since they were last taken, each object once. For one thread."""

    def __init__(self, objects: Mapping[Key, Object]) -> None:
        """`objects`: what is published."""
        self.objects = dict(objects)
        self.events_without_name = 0
        """How many events told of an object without a name, which nothing can be kept or decided under."""
        self._changed: dict[Key, Object | None] = {}

    def put(self, resource: str, obj: Object) -> None:
        """An object as it now is. Unchanged in what is kept is unchanged: a kubelet's heartbeat costs nothing."""
        name = key_of(obj)
        if name is None:
            self.events_without_name += 1
            return
        key = resource, name
        if self.objects.get(key) != obj:
            self.objects[key] = self._changed[key] = obj

    def remove(self, resource: str, obj: Object) -> None:
        """An object that is gone; it need not be known."""
        name = key_of(obj)
        if name is None:
            self.events_without_name += 1
        else:
            self._drop((resource, name))

    def relist(self, resource: str, listed: Sequence[Object]) -> None:
        """All objects there are of a resource: what is known and not among them is gone."""
        names = {key_of(obj) for obj in listed}
        for key in [key for key in self.objects if key[0] == resource and key[1] not in names]:
            self._drop(key)
        for obj in listed:
            self.put(resource, obj)

    def take_changes(self) -> list[Change]:
        """What changed since the last call."""
        changes = [Change(resource, key, obj) for (resource, key), obj in self._changed.items()]
        self._changed = {}
        return changes

    @property
    def has_changes(self) -> bool:
        """Whether there is something to publish."""
        return bool(self._changed)

    def _drop(self, key: Key) -> None:
        if self.objects.pop(key, None) is not None:
            self._changed[key] = None


def key_of(obj: Object) -> str | None:
    """`name`, or `namespace/name`; None where it has no name."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return None
    namespace, name = metadata.get("namespace"), metadata.get("name")
    if not isinstance(name, str) or not name or not isinstance(namespace, str | None):
        return None
    return f"{namespace}/{name}" if namespace else name
