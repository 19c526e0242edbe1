"""Karpenter, Berth and a scheduler for one policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.e2e.berth.identities import counted_resources, serve
from tests.e2e.gangs.scheduler import GangScheduler
from tests.e2e.kubernetes.cluster import Cluster
from tests.e2e.kubernetes.control_plane import ControlPlane

from .karpenter import BINARY, WAIT_SECONDS, Karpenter, running


class Start(Protocol):
    """Starts Karpenter, Berth and a scheduler for a document. lost: counted resources that no kubelet reports."""

    def __call__(self, document: str, lost: Sequence[str] = ()) -> Karpenter: ...


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    """Return the cluster, with longer waits because Karpenter needs time for nodes."""
    cluster.wait_seconds = WAIT_SECONDS
    return cluster


@pytest.fixture
def start(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Start]:
    if not BINARY.exists():
        pytest.skip("Karpenter is not built: make e2e-karpenter")
    with ExitStack() as stack:

        def start(document: str, lost: Sequence[str] = ()) -> Karpenter:
            karpenter = stack.enter_context(running(control_plane, tmp_path, lost))
            if "managedResources" in document:
                stack.enter_context(counted_resources(control_plane))
            berth = stack.enter_context(serve(control_plane, tmp_path, document=document))
            stack.enter_context(GangScheduler(control_plane, tmp_path).run(berth.url_prefix, document))
            return karpenter

        yield start
