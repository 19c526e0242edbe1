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

LICENCE = "example.com/licence"
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
        pytest.param({}, [LABELED], [], Result.OK, "1, and the policy accepts their nodes", id="the label"),
        pytest.param({}, [], [], Result.OK, "NodePools of Karpenter: 0", id="no pool"),
        pytest.param(
            {},
            [LABELED, pool("other")],
            [],
            Result.WARNING,
            "NodePool other: the policy rejects its nodes",
            id="one lacks it",
        ),
        pytest.param({}, Unlisted.NOT_DEFINED, [], Result.SKIPPED, "does not define them", id="no Karpenter"),
        pytest.param({}, Unlisted.FORBIDDEN, [], Result.SKIPPED, "may not list them", id="a user without the right"),
        pytest.param(
            COUNTED, [LABELED], [overlay()], Result.OK, "accepts their nodes", id="an overlay for the resource"
        ),
        pytest.param(COUNTED, [LABELED], [], Result.WARNING, f"no NodeOverlay adds {LICENCE}", id="none"),
        pytest.param(
            FLOATING, [LABELED], [], Result.OK, "accepts their nodes", id="a floating resource needs no overlay"
        ),
        pytest.param(
            COUNTED,
            [LABELED],
            Unlisted.NOT_DEFINED,
            Result.WARNING,
            f"no NodeOverlay adds {LICENCE}",
            id="an old Karpenter",
        ),
        pytest.param(
            COUNTED,
            [LABELED],
            [overlay("Unknown")],
            Result.WARNING,
            "NodeOverlay licences is not in effect",
            id="no gate",
        ),
        pytest.param(COUNTED, [LABELED], Unlisted.FORBIDDEN, Result.SKIPPED, "NodeOverlays", id="overlays forbidden"),
        pytest.param(COUNTED, [], [], Result.OK, "NodePools of Karpenter: 0", id="counted, and no pool"),
    ],
)
def test_reports_pools_whose_nodes_the_policy_rejects(
    document: Mapping[str, Any], pools: Listed, overlays: Listed, result: Result, message: str
) -> None:
    access = FakeAccess(custom={NODE_POOLS: pools, NODE_OVERLAYS: overlays})
    found = list(check_node_pools(access, BerthConfiguration.model_validate(document)))
    expect(found, "node-pools", result, message)
    assert len(found) == 1
