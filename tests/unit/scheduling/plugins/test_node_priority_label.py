"""NodePriorityLabel: the rule of the label-priority profile."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.objects import NodeInfo
from berth.scheduling.plugins.node_priority_label import NodePriorityLabel, NodePriorityLabelArgs
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod


def no_label(key: str) -> Status:
    reason = f"node(s) didn't have the priority label {key}"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), "NodePriorityLabel")


NO_LABEL = no_label("priority.lixueduan.com")
NOT_AN_INTEGER = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    ("node(s) had a priority label priority.lixueduan.com that is not an integer",),
    "NodePriorityLabel",
)

plugin = NodePriorityLabel(NodePriorityLabelArgs())


@pytest.mark.parametrize(
    ("candidate", "wanted"),
    [
        pytest.param(labelled("n", "10"), SUCCESS, id="an integer passes"),
        pytest.param(labelled("n", "0"), SUCCESS, id="zero passes"),
        pytest.param(labelled("n", "-7"), SUCCESS, id="a negative integer passes"),
        pytest.param(labelled("n", "007"), SUCCESS, id="leading zeros pass"),
        pytest.param(labelled("n", "999999999999999"), SUCCESS, id="fifteen digits pass"),
        pytest.param(labelled("n", "1" * 16), NOT_AN_INTEGER, id="sixteen digits are too many"),
        pytest.param(node("n"), NO_LABEL, id="no label"),
        pytest.param(node("n", {"priority": "10"}), NO_LABEL, id="another label does not count"),
        pytest.param(node("n", {"PRIORITY.lixueduan.com": "10"}), NO_LABEL, id="the key is case-sensitive"),
        pytest.param(labelled("n", ""), NOT_AN_INTEGER, id="an empty value is not an integer"),
        pytest.param(labelled("n", "high"), NOT_AN_INTEGER, id="a word"),
        pytest.param(labelled("n", "1.5"), NOT_AN_INTEGER, id="a fraction"),
        pytest.param(labelled("n", "+5"), NOT_AN_INTEGER, id="a plus sign"),
        pytest.param(labelled("n", "-"), NOT_AN_INTEGER, id="only a minus sign"),
        pytest.param(labelled("n", " 5"), NOT_AN_INTEGER, id="a leading space"),
        pytest.param(labelled("n", "5\n"), NOT_AN_INTEGER, id="a trailing line break"),
        pytest.param(labelled("n", "1_000"), NOT_AN_INTEGER, id="an underscore"),
        pytest.param(labelled("n", "٣"), NOT_AN_INTEGER, id="non-ASCII digits"),
    ],
)
def test_node_passes_only_with_an_integer_priority_label(candidate: NodeInfo, wanted: Status) -> None:
    assert plugin.filter(pod(), candidate) == wanted


def test_uses_label_from_the_arguments() -> None:
    configured = NodePriorityLabel(NodePriorityLabelArgs(label="example.com/rank"))
    ranked = node("n", {"example.com/rank": "4", "priority.lixueduan.com": "x"})
    assert configured.filter(pod(), ranked) is SUCCESS
    assert configured.score(pod(), ranked) == 4
    assert configured.filter(pod(), labelled("n", "10")) == no_label("example.com/rank")


def test_all_pods_share_one_verdict() -> None:
    assert plugin.shape(pod("a", "x", priority=1)) == plugin.shape(pod("b", "y", controller_kind="Job"))


@pytest.mark.parametrize("label", ["priority.lixueduan.com", "rank", "example.com/rank", "a.b-c/d_e.F", "x" * 63])
def test_accepts_label_keys_of_kubernetes(label: str) -> None:
    assert NodePriorityLabelArgs(label=label).label == label


@pytest.mark.parametrize(
    "label", ["", "a b", "/rank", "example.com/", "Example.com/rank", "-rank", "x" * 64, "a/b/c", "ü"]
)
def test_rejects_invalid_label_keys(label: str) -> None:
    with pytest.raises(ValidationError) as caught:
        NodePriorityLabelArgs(label=label)
    assert caught.value.errors()[0]["loc"] == ("label",)
