"""Lists of quantities as a node has them."""

from __future__ import annotations

import pytest

from berth.scheduling.fields.reading import MalformedField
from berth.scheduling.fields.resources import PODS, amount_of, counted, read_counted, read_resource_list

LONG = "1" * 40


@pytest.mark.parametrize(
    "allocatable",
    [
        pytest.param(None, id="absent"),
        pytest.param({}, id="empty"),
        pytest.param({"cpu": "31850m", "memory": "60Gi", "pods": "110"}, id="of a plain node"),
        pytest.param({"cpu": 4, "memory": 1.5, "pods": 110}, id="numbers instead of strings"),
        pytest.param({"cpu": "1", "memory": "1", "example.com/seat": "1", "storage": "1"}, id="equal strings"),
        pytest.param({"hugepages-2Mi": "0", "pods": "0"}, id="zero"),
        pytest.param({"cpu": None, "pods": None}, id="null"),
        pytest.param({"memory": LONG}, id="a string that is not cached"),
        pytest.param({"cpu": "100n", "memory": "100m"}, id="rounded up"),
    ],
)
def test_reading_and_counting_in_one_pass_equals_separate_steps(allocatable: object) -> None:
    amounts = read_resource_list(allocatable, "status.allocatable")
    for _ in range(2):
        assert read_counted(allocatable, "status.allocatable") == (counted(amounts), amount_of(PODS, amounts))


@pytest.mark.parametrize(
    "allocatable",
    [
        pytest.param({"cpu": "four"}, id="not a number"),
        pytest.param({"cpu": True}, id="a boolean"),
        pytest.param({"storage": "much"}, id="an amount of an uncounted resource"),
        pytest.param({"pods": LONG + "x"}, id="a long text"),
        pytest.param({True: "1"}, id="a name that is not a string"),
        pytest.param(["cpu"], id="not an object"),
    ],
)
def test_rejects_malformed_amounts(allocatable: object) -> None:
    with pytest.raises(MalformedField, match=r"status\.allocatable"):
        read_counted(allocatable, "status.allocatable")
