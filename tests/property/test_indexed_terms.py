"""Long lists of terms, tolerations and requirements are indexed; an index gives the same decisions as the list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakValueDictionary

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.fields import node_affinity, selectors
from berth.scheduling.objects import pod_reading
from berth.scheduling.plugins import pod_counts
from berth.scheduling.plugins.inter_pod_affinity import scoring, terms
from tests.property.changing_clusters import Cluster, Event, Manifest, as_pod, clusters, events, incoming
from tests.property.test_evaluations import happened, said_by

pytestmark = pytest.mark.long

FULL = BerthConfiguration().build_profile("full")


@contextmanager
def lists_indexed_above(length: int) -> Iterator[None]:
    """Index only longer lists, without specs and counts that were cached under another length."""
    modules = (node_affinity, selectors, scoring, terms)
    patches: list[Any] = [patch.object(module, "FEW", length) for module in modules]
    patches += [patch.object(pod_reading, "_SPECS", WeakValueDictionary())]
    patches += [patch.object(pod_counts, "_SHARED", WeakValueDictionary())]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


@settings(max_examples=60)
@given(clusters(), st.lists(st.lists(events, min_size=1, max_size=3), max_size=4), incoming)
def test_indexed_terms_give_the_same_decisions_as_a_linear_scan(
    cluster: Cluster, changes: list[list[Event]], manifest: Manifest
) -> None:
    found = []
    for length in (1_000, -1):
        with lists_indexed_above(length):
            pod, now, snapshot = as_pod(manifest), cluster, cluster.anew()
            cache = EvaluationCache()
            answers = [said_by(cache.of(FULL, pod, snapshot), pod)]
            for together in changes:
                now, snapshot = happened(now, snapshot, together)
                answers.append(said_by(cache.of(FULL, pod, snapshot), pod))
            found.append(answers)
    assert found[0] == found[1]
