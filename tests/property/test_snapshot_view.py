"""However changes are batched, the same objects make the same state, and earlier states stay as they were."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.nodecache.feed.changes import Change, Key, Object, pack, unpack
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from tests.builders.snapshots import content
from tests.property.cluster_objects import changes

pytestmark = pytest.mark.long

batches = st.lists(st.lists(changes(), max_size=8), max_size=8)
VIEW = SnapshotView()


def published(batch: list[Change]) -> list[Change]:
    """What a reader gets of it."""
    return list(unpack(pack(batch).items))


def loaded_at_once(batches: list[list[Change]]) -> CachedCluster:
    """The state of the objects that are left in the end."""
    objects: dict[Key, Object] = {}
    for batch in batches:
        for resource, key, kept in batch:
            objects.pop((resource, key), None)
            if kept is not None:
                objects[resource, key] = kept
    return VIEW.applied(VIEW.empty(), published([Change(*key, kept) for key, kept in objects.items()]))


def seen(state: CachedCluster) -> object:
    """All that a caller can see of a state."""
    return content(state.snapshot), state.unreadable


@settings(max_examples=400)
@given(batches)
def test_any_batching_gives_state_of_full_load(batches: list[list[Change]]) -> None:
    state = VIEW.empty()
    for batch in batches:
        state = VIEW.applied(state, published(batch))
    assert seen(state) == seen(loaded_at_once(batches))


@given(batches, st.lists(changes(), min_size=1, max_size=8), st.lists(changes(), min_size=1, max_size=8))
def test_state_is_not_changed_by_later_states(
    batches: list[list[Change]], one: list[Change], other: list[Change]
) -> None:
    """Calls that run hold it; and where an item turns out to be corrupt, the reader goes on from it once more."""
    state = loaded_at_once(batches)
    before = seen(state)
    following = VIEW.applied(state, published(one))
    assert seen(VIEW.applied(state, published(other))) == seen(loaded_at_once([*batches, other]))
    assert seen(following) == seen(loaded_at_once([*batches, one]))
    assert seen(state) == before


@given(batches, st.lists(changes(), max_size=8))
def test_rebuilds_only_changed_nodes(batches: list[list[Change]], batch: list[Change]) -> None:
    """What was worked out for the others holds on, and is found by the step."""
    state = loaded_at_once(batches)
    following = VIEW.applied(state, published(batch))
    before, after = state.snapshot, following.snapshot
    pods = [holder.pods.get(change.key) for change in batch for holder in (state, following)]
    concerned = {change.key for change in batch if change.resource == "nodes"} | {pod.node_name for pod in pods if pod}
    changed = {
        name for name in before.nodes.keys() | after.nodes.keys() if after.nodes.get(name) is not before.nodes.get(name)
    }
    assert changed <= concerned
    step = after.changed_since(before)
    assert step is not None
    assert changed <= step.names <= concerned
    if not changed and before is not after:
        assert content(before) != content(after)
