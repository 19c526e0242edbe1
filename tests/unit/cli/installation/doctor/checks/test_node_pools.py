"""The check of Karpenter's NodePools and NodeOverlays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.doctor.checks.node_pools import check_node_pools
from berth_cli.installation.doctor.cluster_access import Unlisted
from berth_cli.installation.doctor.findings import Result
from berth_cli.installation.node_pools import NODE_OVERLAYS, NODE_POOLS
from tests.builders.nodes import PRIORITY
from tests.fakes.doctor import FakeAccess
from tests.unit.cli.installation.doctor.finding_assertions import expect

WARNING, OK, SKIPPED = Result.WARNING, Result.OK, Result.SKIPPED
LICENCE = "example.com/licence"
NOT_ADDED = f"no NodeOverlay adds {LICENCE}"
COUNTED = {"profile": "managed-resources", "managedResources": [{"name": LICENCE}]}
FLOATING = {
    "profile": "managed-resources",
    "managedResources": [{"name": LICENCE, "capacity": {"value": 3, "scope": "cluster"}}],
}
Listed = Sequence[Mapping[str, Any]] | Unlisted


def pool(name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    template = {"metadata": {"labels": dict(labels or {})}, "spec": {"requirements": []}}
    return {"metadata": {"name": name}, "spec": {"template": template}}


def overlay(ready: str = "True") -> dict[str, Any]:
    return {
        "metadata": {"name": "licences"},
        "spec": {"requirements": [], "capacity": {LICENCE: "3"}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


LABELED = pool("labeled", {PRIORITY: "1"})


@pytest.mark.parametrize(
    ("document", "pools", "overlays", "result", "message"),
    [
        pytest.param({}, [LABELED], [], OK, "1, and the policy accepts their nodes", id="the label"),
        pytest.param({}, [], [], OK, "NodePools of Karpenter: 0", id="no pool"),
        pytest.param({}, [LABELED, pool("other")], [], WARNING, "NodePool other: the policy", id="one lacks it"),
        pytest.param({}, Unlisted.NOT_DEFINED, [], SKIPPED, "does not define them", id="no Karpenter"),
        pytest.param({}, Unlisted.FORBIDDEN, [], SKIPPED, "may not list them", id="a user without the right"),
        pytest.param(COUNTED, [LABELED], [overlay()], OK, "accepts their nodes", id="an overlay for the resource"),
        pytest.param(COUNTED, [LABELED], [], WARNING, NOT_ADDED, id="none"),
        pytest.param(FLOATING, [LABELED], [], OK, "accepts their nodes", id="a floating resource needs no overlay"),
        pytest.param(COUNTED, [LABELED], Unlisted.NOT_DEFINED, WARNING, NOT_ADDED, id="an old Karpenter"),
        pytest.param(COUNTED, [LABELED], [overlay("Unknown")], WARNING, "licences is not in effect", id="no gate"),
        pytest.param(COUNTED, [LABELED], Unlisted.FORBIDDEN, SKIPPED, "NodeOverlays", id="overlays forbidden"),
        pytest.param(COUNTED, [], [], OK, "NodePools of Karpenter: 0", id="counted, and no pool"),
    ],
)
def test_reports_pools_whose_nodes_the_policy_rejects(
    document: Mapping[str, Any], pools: Listed, overlays: Listed, result: Result, message: str
) -> None:
    access = FakeAccess(custom={NODE_POOLS: pools, NODE_OVERLAYS: overlays})
    found = list(check_node_pools(access, BerthConfiguration.model_validate(document)))
    expect(found, "node-pools", result, message)
    assert len(found) == 1
