"""One answer of the command: what fails now decides the exit status of a pod that has a node by every rule."""

from __future__ import annotations

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.explanation.answer import answer_to
from berth_cli.explanation.attempts import NoRecord
from berth_cli.explanation.sources.inputs import Inputs
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.unit.cli.explanation.cases import target

STALE = "Berth cannot decide: the node cache is 10 min old, older than maxStaleness (180 s): whenStale is fail"
CONFIGURATION = BerthConfiguration()


@pytest.mark.parametrize(
    ("namespace", "failure", "passes_exempt", "status", "headline"),
    [
        pytest.param("ml", "", True, 0, "can be placed, on a: 1 of 1 nodes fit", id="Berth answers"),
        pytest.param("ml", STALE, True, 1, f"pending: {STALE}; 1 of 1 nodes fit", id="a stack with a stale cache"),
        pytest.param(
            "kube-system",
            STALE,
            True,
            0,
            "can be placed, on a: 1 of 1 nodes fit",
            id="an exempt pod passes all the same",
        ),
        pytest.param(
            "kube-system",
            "Berth does not answer",
            False,
            1,
            "pending: Berth does not answer; 1 of 1 nodes fit",
            id="down",
        ),
    ],
)
def test_a_pod_with_a_node_is_pending_while_berth_answers_no_call(
    namespace: str, failure: str, passes_exempt: bool, status: int, headline: str
) -> None:
    found = target(pod_with("p", namespace=namespace), node_with("a", {PRIORITY: "1"}))
    inputs = Inputs(CONFIGURATION, NoRecord("none"), found, failure=failure, passes_exempt=passes_exempt)
    answer = answer_to(inputs)
    assert (answer.status, answer.lines[0]) == (status, f"{namespace}/p: {headline}")
