"""Which changes are pending."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.leader import ObservedState

FIRST: Object = {"metadata": {"namespace": "default", "name": "p", "uid": "1"}}
SECOND: Object = {"metadata": {"namespace": "default", "name": "p", "uid": "2"}}


@pytest.mark.parametrize(
    ("published", "events", "changes"),
    [
        pytest.param(None, [FIRST], [FIRST], id="created"),
        pytest.param(FIRST, [FIRST], [], id="without a change of a field"),
        pytest.param(None, [FIRST, SECOND], [SECOND], id="changed twice"),
        pytest.param(None, [FIRST, None], [None], id="created and removed"),
        pytest.param(None, [FIRST, None, SECOND], [None, SECOND], id="created, removed and created anew"),
        pytest.param(FIRST, [None, FIRST], [None, FIRST], id="removed and created anew"),
        pytest.param(None, [None, FIRST], [FIRST], id="removed before it was known"),
    ],
)
def test_pending_changes(published: Object | None, events: list[Object | None], changes: list[Object | None]) -> None:
    state = ObservedState({} if published is None else {("pods", "default/p"): published})

    for obj in events:
        if obj is None:
            state.remove("pods", FIRST)
        else:
            state.put("pods", obj)

    assert state.take_changes() == [Change("pods", "default/p", obj) for obj in changes]
    assert state.take_changes() == []
