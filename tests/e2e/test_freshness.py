"""A change in the API server takes effect in the verbs within two seconds."""

from __future__ import annotations

import time

from .berth.extender import ExtenderCache
from .berth.label_priority import priority
from .kubernetes.cluster import Cluster

EFFECT_SECONDS = 2.0


def test_changed_label_takes_effect_within_two_seconds(cluster: Cluster, cache: ExtenderCache) -> None:
    node = cluster.create_node("fresh", priority(10))
    cache.wait_for_scores({node: 10})

    delays = []
    for value in (20, 30, 40):
        cluster.relabel(node, priority(value))
        changed = time.monotonic()
        cache.wait_for_scores({node: value})
        delays.append(time.monotonic() - changed)

    assert max(delays) <= EFFECT_SECONDS, delays
