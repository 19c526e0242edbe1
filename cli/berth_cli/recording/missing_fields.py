"""What a policy reads of a cluster, and states lack that were kept for another policy."""

from __future__ import annotations

from collections.abc import Iterator

from berth.cluster.field_projection import Annotations, RequiredFields
from berth.scheduling.gangs.gang import ANNOTATIONS as GANG_ANNOTATIONS
from berth.scheduling.policy import Policy


def missing_fields(policy: Policy, kept: RequiredFields) -> Iterator[str]:
    """What the policy reads and was not kept, in words."""
    required = RequiredFields.of(policy)
    if required.spreading and not kept.spreading:
        yield "Services and controllers, by which PodTopologySpread spreads pods without constraints"
    if required.images and not kept.images:
        yield "images, which ImageLocality scores"
    if required.gangs and not kept.gangs:
        yield "PodGroups, and the annotations and ages of pods, by which gangs are placed"
    for kind, names in (
        ("pods", _missing(required.pod_annotations, kept.pod_annotations) - GANG_ANNOTATIONS),
        ("nodes", _missing(required.node_annotations, kept.node_annotations)),
    ):
        if names:
            yield f"annotations of {kind}, by which resources are counted: {', '.join(sorted(names))}"


def _missing(required: Annotations, kept: Annotations) -> frozenset[str]:
    return frozenset(name for name in required.names or () if name not in kept)
