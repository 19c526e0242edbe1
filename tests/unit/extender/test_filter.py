"""The answer of filter: each rejected node in one of the two maps, with its reason."""

from __future__ import annotations

from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.builders.requests import full_mode
from tests.fakes.verbs import Verbs

PROFILE = {"profile": "full", "unresolvable": "as-plugins-say"}


def test_puts_each_rejected_node_into_one_map() -> None:
    verbs = Verbs([], configuration=BerthConfiguration.model_validate(PROFILE))
    cordoned, fits = node_with("cordoned", unschedulable=True), node_with("fits")
    small = node_with("small", allocatable={"cpu": "4", "memory": "8Gi", "pods": "0"})
    request = full_mode([small, cordoned, fits], pod_with("asks", requests={"cpu": "3"}))
    answer = verbs.ask("filter", request).json
    assert answer["Nodes"]["items"] == [fits]
    assert answer["FailedNodes"] == {"small": "Too many pods"}
    assert answer["FailedAndUnresolvableNodes"] == {"cordoned": "node(s) were unschedulable"}
