"""A status carries its reasons as the pod's event shows them."""

from __future__ import annotations

import pytest

from berth.scheduling.framework.plugin import SUCCESS, Code, Status, error_status, unresolvable, unschedulable
from berth.scheduling.reason_code import ReasonCode


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


TAINT, PLUGIN = ReasonCode.UNTOLERATED_TAINT, ReasonCode.PLUGIN_REASON


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        pytest.param(SUCCESS, (), id="success has no code"),
        pytest.param(unschedulable("P", "one"), (PLUGIN,), id="a plugin without codes"),
        pytest.param(unresolvable("P", "one", reason_code=TAINT), (TAINT,), id="a named code"),
        pytest.param(error_status("P", "one", "two", reason_code=TAINT), (TAINT, TAINT), id="one code for all reasons"),
        pytest.param(Status(Code.UNSCHEDULABLE, ("one", "two"), "P", (TAINT, PLUGIN)), (TAINT, PLUGIN), id="one each"),
        pytest.param(Status(Code.UNSCHEDULABLE, ("one", "two"), "P"), (PLUGIN, PLUGIN), id="built without codes"),
    ],
)
def test_every_reason_has_a_code(status: Status, codes: tuple[ReasonCode, ...]) -> None:
    assert status.reason_codes == codes
