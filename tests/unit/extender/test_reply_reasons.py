"""The reasons for dropped nodes are joined as text, and are the bytes that encoding a dictionary would give."""

from __future__ import annotations

import orjson
import pytest

from berth.extender.reply import reasons
from berth.scheduling.evaluation.verdicts import NONE_REJECTED, Rejected
from berth.scheduling.framework.status import unresolvable, unschedulable

FULL = unschedulable("Fit", "Insufficient cpu", "Insufficient memory")
ODD = unresolvable("Odd", 'it says "no"\n', "née \\ ☃")


@pytest.mark.parametrize(
    "dropped",
    [
        pytest.param(NONE_REJECTED, id="none"),
        pytest.param(Rejected.of({"a": FULL}), id="one"),
        pytest.param(Rejected.of({"b": FULL, "c": ODD, "a": FULL}), id="some, in the request's order"),
        pytest.param(Rejected(["b", "c", "a"], b"\1\2\1", [ODD, FULL, ODD]), id="by code"),
        pytest.param(Rejected.of({"a": FULL, 'x",': ODD}), id="a name with a quotation mark"),
        pytest.param(Rejected.of({"a\\": FULL, "b\n": FULL}), id="names with other characters that JSON escapes"),
        pytest.param(Rejected.of({"": FULL, "é☃": ODD}), id="an empty name, and one beyond ASCII"),
    ],
)
def test_reasons_equal_encoded_dictionary(dropped: Rejected) -> None:
    expected = {name: status.message for name, status in dropped.items()}
    assert orjson.dumps(reasons(dropped)) == orjson.dumps(expected)
