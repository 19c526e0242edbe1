"""A status carries its reasons as the pod's event shows them."""

from __future__ import annotations

import pytest

from berth.scheduling.framework.status import SUCCESS, Code, Status, error_status, unresolvable, unschedulable


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (SUCCESS, Code.SUCCESS, ""),
        (unschedulable("P", "one"), Code.UNSCHEDULABLE, "one"),
        (unresolvable("P", "one", "two"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "one, two"),
        (error_status("P", "one"), Code.ERROR, "one"),
    ],
)
def test_status_has_code_and_joined_reasons(status: Status, code: Code, message: str) -> None:
    assert (status.code, status.message) == (code, message)
