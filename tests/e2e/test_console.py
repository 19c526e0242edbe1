"""The page of `berth serve --console` in Chromium, on a cluster with a real kube-scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.chromium import Browser, NoBrowser, Tab, find_browser, missing
from tests.console.test_overview import IS_CURRENT, ROWS
from tests.console.test_pending import ROWS as PENDING_ROWS

from .berth.identities import serve
from .berth.label_priority import NO_LABEL, priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.loopback import free_port
from .kubernetes.scheduler_configuration import filter_prioritize_bind

# wait_for answers two seconds before its own limit.
WITHIN_TWO_SECONDS = 4
KIND = "document.getElementById('status').dataset.kind"
ADDRESS = re.compile(r"^console: (\S+)", re.MULTILINE)


@pytest.fixture
def tab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tab]:
    """A test fails if the page breaks its own policy, or throws."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    try:
        command = find_browser()
    except NoBrowser as error:
        missing(str(error))
    folder = tmp_path / "chromium"
    folder.mkdir()
    with Browser(command, folder) as browser, browser.tab() as found:
        yield found
        assert found.violations == []
        assert found.errors == []


class ConsoleServe:
    """`berth serve --console` on the same two ports each time that it is started."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._port, self._console_port = free_port(), free_port()
        options = ["--console", f"--console-port={self._console_port}"]
        self.serve = serve(control_plane, directory, port=self._port, options=options)
        self._log = directory / f"berth-serve-{self._port}.log"

    @property
    def origin(self) -> str:
        """The page's."""
        return f"http://127.0.0.1:{self._console_port}"

    @property
    def address(self) -> str:
        """The one that was printed last."""
        found = [each[1] for each in ADDRESS.finditer(self._log.read_text())]
        return found[-1]


def test_page_follows_the_cluster_explains_a_pod_and_survives_its_server(
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
        tab.open(f"{console.origin}/#/health")
        tab.wait_for("document.getElementById('health-charts').innerText.includes('filter ')")

        tab.open(f"{console.origin}/#/overview?node={node}")
        tab.wait_for(f"document.querySelector('#details h2')?.innerText === '{node}'")
        cluster.relabel(node, priority(1))
        assert cluster.wait_until_assigned(pod) == node
        tab.wait_for(f"({ROWS}).includes('{name}')", seconds=WITHIN_TWO_SECONDS)

        berth.kill()
        tab.wait_for(f"{KIND} === 'disconnected'")
        assert tab.text("#details h2") == node

    with console.serve:
        # By itself, and at its place.
        tab.wait_for(IS_CURRENT)
        assert "again; the console was away for" in tab.text("#status")
        assert tab.evaluate("location.hash") == f"#/overview?node={node}"
        tab.wait_for(f"({ROWS}).includes('{name}')")
