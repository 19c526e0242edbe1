"""A map that is never changed, however its layers lie."""

from __future__ import annotations

import pytest

from berth.nodecache.snapshot_view import LayeredMap


@pytest.mark.parametrize("size", [0, 10, 5000], ids=["empty", "small", "large"])
@pytest.mark.parametrize("count", [1, 7, 400], ids=["few at once", "some at once", "many at once"])
def test_change_behaves_like_dict_update_and_leaves_earlier_maps_unchanged(size: int, count: int) -> None:
    keys = [f"k{number}" for number in range(size + 50)]
    wanted = {f"k{number}": number for number in range(size)}
    found = LayeredMap(dict(wanted))
    earlier = []
    for step in range(30):
        earlier.append((found, dict(wanted)))
        changes = {f"k{(step * 37 + number) % (size + 50)}": None if number % 3 else -step for number in range(count)}
        found = found.changed(changes)
        wanted |= {key: value for key, value in changes.items() if value is not None}
        for key in [key for key, value in changes.items() if value is None]:
            wanted.pop(key, None)
    for known, content in [*earlier, (found, wanted)]:
        assert {key: value for key in keys if (value := known.get(key)) is not None} == content


def test_change_of_large_map_shares_its_base() -> None:
    large = LayeredMap({f"k{number}": number for number in range(5000)})
    assert large.changed({"k1": None, "new": 1})._base is large._base
