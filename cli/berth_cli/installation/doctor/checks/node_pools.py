"""Checks Karpenter's NodePools and NodeOverlays: whether the policy accepts the nodes that Karpenter would add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from berth_cli.installation.doctor.cluster_access import Unlisted
from berth_cli.installation.doctor.findings import CheckName, Finding, ok, skipped, warning
from berth_cli.installation.extenders import managed_resources_of
from berth_cli.installation.node_pools import NODE_OVERLAYS, NODE_POOLS, rejections, template_node

if TYPE_CHECKING:
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth_cli.installation.doctor.cluster_access import ClusterAccess

CHECK = CheckName.NODE_POOLS
TEMPLATE_REMEDY = "state in its template what `berth config nodepool` prints, or keep the pods off it"
OVERLAY_REMEDY = "apply the NodeOverlay of `berth config nodepool`, unless the instance types have the resource"
GATE_REMEDY = "start Karpenter with the feature gate NodeOverlay=true, and see the object's conditions"


def check_node_pools(access: ClusterAccess, configuration: BerthConfiguration) -> Iterator[Finding]:
    """Yield a warning for each NodePool whose nodes the policy rejects, and for each resource that no NodeOverlay adds.

    These are not failures: other pools may serve the pods.
    """
    pools = access.custom_resources(NODE_POOLS)
    if isinstance(pools, Unlisted):
        yield skipped(CHECK, f"NodePools of Karpenter: {pools}")
        return
    found = [*_templates(pools, configuration), *_overlays(access, configuration)] if pools else []
    yield from found or [ok(CHECK, f"NodePools of Karpenter: {len(pools)}, and the policy accepts their nodes")]


def _templates(pools: Sequence[Mapping[str, Any]], configuration: BerthConfiguration) -> Iterator[Finding]:
    for node in map(template_node, pools):
        for reason in rejections(configuration, node):
            yield warning(CHECK, f"NodePool {node.name}: the policy rejects its nodes: {reason}", TEMPLATE_REMEDY)


def _overlays(access: ClusterAccess, configuration: BerthConfiguration) -> Iterator[Finding]:
    counted = {each.name for each in managed_resources_of(configuration).resources if not each.is_floating}
    overlays = access.custom_resources(NODE_OVERLAYS) if counted else []
    if overlays is Unlisted.FORBIDDEN:
        yield skipped(CHECK, f"NodeOverlays of Karpenter: {overlays}")
        return
    for overlay in () if isinstance(overlays, Unlisted) else overlays:
        added = counted & overlay["spec"].get("capacity", {}).keys()
        conditions = overlay.get("status", {}).get("conditions") or ()
        if added and not any((each["type"], each["status"]) == ("Ready", "True") for each in conditions):
            yield warning(CHECK, f"NodeOverlay {overlay['metadata']['name']} is not in effect", GATE_REMEDY)
        counted -= added
    for name in sorted(counted):
        message = f"no NodeOverlay adds {name}: for pods that request it, Karpenter adds no node"
        yield warning(CHECK, message, OVERLAY_REMEDY)
