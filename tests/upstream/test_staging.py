"""An edit of upstream's code applies as often as expected, or not at all."""

import pytest

from tests.upstream.staging import Edit, StagingError

CODE = "a := start(x)\nb := start(y)\n"


def test_edit_replaces_pattern_that_occurs_as_often_as_expected() -> None:
    edit = Edit(r"^(\w) := start\((\w)\)$", r"\1 := begin(\2)", times=2)

    assert edit.apply(CODE, "file.go") == "a := begin(x)\nb := begin(y)\n"


@pytest.mark.parametrize("times", [pytest.param(1, id="more often"), pytest.param(3, id="less often")])
def test_edit_fails_if_pattern_occurs_more_or_less_often(times: int) -> None:
    with pytest.raises(StagingError, match=r"^file\.go: 'start' occurs 2 times"):
        Edit("start", "begin", times).apply(CODE, "file.go")
