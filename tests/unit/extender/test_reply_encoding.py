"""Reasons and scores of nodes are joined as text, and are the bytes that encoding dictionaries would give."""

from __future__ import annotations

import orjson
import pytest

from berth.extender.reply import host_scores, reasons
from berth.scheduling.evaluation.verdicts import NONE_REJECTED, Rejected
from berth.scheduling.framework.plugin import unresolvable, unschedulable

FULL = unschedulable("Fit", "Insufficient cpu", "Insufficient memory")
ODD = unresolvable("Odd", 'it says "no"\n', "née \\ ☃")


@pytest.mark.parametrize(
    "rejected",
    [
        pytest.param(NONE_REJECTED, id="none"),
        pytest.param(Rejected.of({"a": FULL}), id="one"),
        pytest.param(Rejected.of({"b": FULL, "c": ODD, "a": FULL}), id="several in the order of the request"),
        pytest.param(Rejected(["b", "c", "a"], b"\1\2\1", [ODD, FULL, ODD]), id="by code"),
        pytest.param(Rejected.of({"a": FULL, 'x",': ODD}), id="a name with a quotation mark"),
        pytest.param(Rejected.of({"a\\": FULL, "b\n": FULL}), id="names with other characters that JSON escapes"),
        pytest.param(Rejected.of({"": FULL, "é☃": ODD}), id="an empty and a non-ASCII name"),
    ],
)
def test_encoded_reasons_equal_an_encoded_dictionary(rejected: Rejected) -> None:
    expected = {name: status.message for name, status in rejected.items()}
    assert orjson.dumps(reasons(rejected)) == orjson.dumps(expected)


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param({}, id="none"),
        pytest.param({"a": 7}, id="one"),
        pytest.param({"b": 10, "c": -3, "a": 10, "d": 10**15}, id="several in the order of the request"),
        pytest.param({"a": 0, 'x",': 1}, id="a name with a quotation mark"),
        pytest.param({"a\\": 0, "b\n": 0}, id="names with other characters that JSON escapes"),
        pytest.param({"": 1, "é☃": 2}, id="an empty and a non-ASCII name"),
    ],
)
def test_encoded_host_scores_equal_an_encoded_list(scores: dict[str, int]) -> None:
    expected = [{"Host": name, "Score": score} for name, score in scores.items()]
    assert orjson.dumps(host_scores([*scores], [*scores.values()])) == orjson.dumps(expected)
