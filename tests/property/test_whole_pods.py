"""The work for any pod that the API server takes follows its bytes plus the nodes, and not their product.

Calls of functions are counted, not time.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.bench.calls import Verb
from tests.bench.cluster import Manifest
from tests.builders.unread_fields import UNREAD_FIELDS
from tests.builders.whole_pods import whole_pods
from tests.property.pod_costs import ASKED, Cost, UnreadCost, Verbs

pytestmark = pytest.mark.long

NODES = 500
BYTES = 60_000

VERBS = Verbs(NODES)


@given(pod=whole_pods(BYTES))
@settings(max_examples=8)
def test_work_is_linear_in_nodes_and_bytes(pod: Manifest) -> None:
    for cost in VERBS.costs(pod):
        assert cost.calls_cold <= Cost.bound(NODES, cost.size), cost
        assert cost.calls_warm <= cost.calls_cold, cost


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize("kind", UNREAD_FIELDS)
def test_makes_no_objects_of_unread_fields(kind: str, verb: Verb) -> None:
    cost = VERBS.unread(kind, verb, 20 * BYTES)
    assert cost.allocated <= UnreadCost.bound(NODES, cost.size), cost
