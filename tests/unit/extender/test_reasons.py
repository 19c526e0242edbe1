"""The reasons for dropped nodes are joined as text, and are the bytes that encoding a dictionary would give."""

from __future__ import annotations

import orjson
import pytest

from berth.extender.reasons import reasons
from berth.scheduling.split import NO_ONE, Dropped
from berth.scheduling.status import unresolvable, unschedulable

FULL = unschedulable("Fit", "Insufficient cpu", "Insufficient memory")
ODD = unresolvable("Odd", 'it says "no"\n', "née \\ ☃")


@pytest.mark.parametrize(
    "dropped",
    [
        pytest.param(NO_ONE, id="none"),
        pytest.param(Dropped.of({"a": FULL}), id="one"),
        pytest.param(Dropped.of({"b": FULL, "c": ODD, "a": FULL}), id="some, in the request's order"),
        pytest.param(Dropped(["b", "c", "a"], b"\1\2\1", [ODD, FULL, ODD]), id="by code"),
        pytest.param(Dropped.of({"a": FULL, 'x",': ODD}), id="a name with a quotation mark"),
        pytest.param(Dropped.of({"a\\": FULL, "b\n": FULL}), id="names with other characters that JSON escapes"),
        pytest.param(Dropped.of({"": FULL, "é☃": ODD}), id="an empty name, and one beyond ASCII"),
    ],
)
def test_they_are_what_the_encoder_makes_of_a_dictionary(dropped: Dropped) -> None:
    expected = {name: status.message for name, status in dropped.items()}
    assert orjson.dumps(reasons(dropped)) == orjson.dumps(expected)
