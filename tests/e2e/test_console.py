"""The page of `berth serve --console` in Chromium, on a cluster with a real kube-scheduler."""

from __future__ import annotations

from pathlib import Path

from tests.console.chromium import Tab
from tests.console.test_overview import IS_CURRENT, ROWS
from tests.console.test_pending import ROWS as PENDING_ROWS

from .berth.console import WITHIN_TWO_SECONDS, ConsoleServe
from .berth.label_priority import NO_LABEL, priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import filter_prioritize_bind

KIND = "document.getElementById('status').dataset.kind"


def test_page_follows_the_cluster_and_explains_a_pod(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tab: Tab, tmp_path: Path
) -> None:
    console = ConsoleServe(control_plane, tmp_path)
    with console.serve as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        tab.open(console.address)
        tab.wait_for(IS_CURRENT)

        node = cluster.create_node("plain")
        tab.wait_for(f"({ROWS}).length === 1", seconds=WITHIN_TWO_SECONDS)
        tab.open(f"{console.origin}/#/overview?rows=nodes&label=")
        tab.wait_for(f"({ROWS}).includes('{node}')")

        pod = cluster.create_pod("waits")
        name = f"{pod.namespace}/{pod.name}"
        cluster.wait_until_unschedulable(pod, "0/1")
        tab.open(f"{console.origin}/#/pending")
        tab.wait_for(f"({PENDING_ROWS}).includes('{name}')")
        assert NO_LABEL in tab.text("#reasons")

        tab.open(f"{console.origin}/#/pending?pod={name}")
        explained = "document.getElementById('explanation').innerText.includes('add the label priority')"
        tab.wait_for(explained)
        # A link shows the same.
        tab.call("Page.reload")
        tab.wait_for(explained)

        tab.open(f"{console.origin}/#/decisions?filter=waits")
        tab.wait_for(f"document.getElementById('decisions-grid').innerText.includes('{name}')")

        tab.open(f"{console.origin}/#/overview?node={node}")
        tab.wait_for(f"document.querySelector('#details h2')?.innerText === '{node}'")
        cluster.relabel(node, priority(1))
        assert cluster.wait_until_assigned(pod) == node
        tab.wait_for(f"({ROWS}).includes('{name}')", seconds=WITHIN_TWO_SECONDS)

        berth.kill()
        tab.wait_for(f"{KIND} === 'disconnected'")
        assert tab.text("#details h2") == node
