"""Cases that end otherwise than listed."""

import pytest

from tests.upstream.differences import compare
from tests.upstream.results import Outcome

CASE = "beside/preemption/misc/TestRaces/one"
REASON = {CASE: "because"}
PASSED, FAILED, UNFINISHED = Outcome.PASSED, Outcome.FAILED, Outcome.UNFINISHED


@pytest.mark.parametrize(
    ("outcomes", "reasons"),
    [
        pytest.param({CASE: PASSED}, {}, id="a case passes"),
        pytest.param({CASE: Outcome.SKIPPED}, {}, id="a case is skipped"),
        pytest.param({CASE: FAILED}, REASON, id="a listed case fails"),
        pytest.param({CASE: UNFINISHED}, REASON, id="a listed case does not end"),
        pytest.param({"beside/preemption/misc/TestOther/one": PASSED}, REASON, id="the listed case's test did not run"),
        pytest.param({"alone/preemption/misc/TestRaces/one": PASSED}, REASON, id="it ran in another mode"),
    ],
)
def test_agrees_with_list(outcomes: dict[str, Outcome], reasons: dict[str, str]) -> None:
    assert compare(outcomes, reasons) == []


@pytest.mark.parametrize(
    ("outcomes", "reasons", "line"),
    [
        pytest.param({CASE: FAILED}, {}, f"{CASE}: failed", id="a case fails that is not listed"),
        pytest.param({CASE: UNFINISHED}, {}, f"{CASE}: unfinished", id="a case that is not listed does not end"),
        pytest.param({CASE: PASSED}, REASON, f"{CASE} is among the differences, and passed", id="a listed case passes"),
        pytest.param(
            {"beside/preemption/misc/TestRaces/two": PASSED},
            REASON,
            f"{CASE} is among the differences, and there is no such case",
            id="a listed case has another name now",
        ),
    ],
)
def test_contradicts_list(outcomes: dict[str, Outcome], reasons: dict[str, str], line: str) -> None:
    assert compare(outcomes, reasons) == [line]
