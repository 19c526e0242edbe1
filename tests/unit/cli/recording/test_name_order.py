"""Codes sort as the names that they stand for, in whatever order the names come."""

from __future__ import annotations

from random import Random

import pytest

from berth_cli.recording.name_order import LENGTH, NameOrder, SortKey, by_length, by_text

NUMBERED = [f"job-{number:05d}" for number in range(3000)]
TWO_ROWS = [f"{job}-{number:05d}" for number in range(1500) for job in ("a", "b")]
DRAWN = [f"{Random(number).randrange(16**10):010x}" for number in range(5000)]
OF_ALL_LENGTHS = [f"train-{number}" for number in range(2000)]


@pytest.mark.parametrize("sort_key", [by_text, by_length], ids=["by text", "by length"])
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(NUMBERED, id="an ascending row"),
        pytest.param(NUMBERED[::-1], id="a descending row"),
        pytest.param(["zebra-00000", *NUMBERED], id="an ascending row before another name"),
        pytest.param(["alpha-00000", *NUMBERED[::-1]], id="a descending row after another name"),
        pytest.param(TWO_ROWS, id="two rows at once"),
        pytest.param(DRAWN, id="in any order"),
        pytest.param(OF_ALL_LENGTHS, id="of several lengths"),
    ],
)
def test_codes_sort_as_the_names(names: list[str], sort_key: SortKey) -> None:
    order = NameOrder(sort_key)
    codes = {name: order.code(name) for name in names}
    ordered = [codes[name] for name in sorted(codes, key=sort_key)]
    assert ordered == sorted(set(codes.values()))
    assert {len(code) for code in ordered} == {LENGTH}
    assert all(order.code(name) == code for name, code in codes.items())


def test_a_name_without_room_has_the_code_of_the_one_before_it() -> None:
    """Names that come from both ends of a gap halve it each time."""
    order = NameOrder(by_text)
    names = [name for pair in zip(NUMBERED, NUMBERED[::-1], strict=True) for name in pair]
    codes = {name: order.code(name) for name in names}
    ordered = [codes[name] for name in NUMBERED]
    assert ordered == sorted(ordered)
    assert 5 * LENGTH - 2 < len(set(ordered)) < len(NUMBERED)
