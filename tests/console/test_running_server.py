"""A `berth serve` by its address: its decisions and its health, with and without a cluster beside it."""

from __future__ import annotations

import json
from http.client import HTTPConnection

from berth_cli.console.running import ConsoleContents
from berth_cli.console.sources import running_server, server_source, with_server
from berth_cli.doctor.findings import Finding
from berth_cli.options import TLSFiles
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served_as
from tests.console.test_decisions import ROWS
from tests.console.test_overview import HAS_PODS, IS_CURRENT, PODS
from tests.console.test_overview import NODES as ALL_NODES


def no_checks() -> list[Finding]:
    return []


def ask(port: int, pod: str) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps(cache_mode(["n1", "n2"], pod_object(pod)))
    connection.request("POST", "/scheduler/filter", body, {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


def test_server_alone_shows_its_decisions_and_its_health_and_says_what_it_lacks(tab: Tab, gateway_port: int) -> None:
    server = running_server(f"http://127.0.0.1:{gateway_port}/scheduler", TLSFiles())
    with served_as(server_source(server, no_checks)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        assert f"http://127.0.0.1:{gateway_port}/scheduler, current" in tab.text("#status")
        assert "--kubeconfig" in tab.text("#empty")
        tab.open(f"{console.origin}/#/pending")
        tab.wait_for("document.getElementById('pending-caption').innerText.includes('--kubeconfig')")
        tab.open(f"{console.origin}/#/decisions")
        tab.wait_for("document.getElementById('decisions-caption').innerText.startsWith('Decisions')")
        ask(gateway_port, "asked-from-elsewhere")
        tab.wait_for(f"({ROWS}).includes('filter ml/asked-from-elsewhere')")
        tab.open(f"{console.origin}/#/health")
        tab.wait_for("document.getElementById('health-content').innerText.includes('Node cache')")
        assert "ok" in tab.text("#health-content")
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.querySelectorAll('pre').length === 1")


def test_cluster_beside_the_server_is_shown_with_its_decisions(tab: Tab, gateway_port: int) -> None:
    server = running_server(f"http://127.0.0.1:{gateway_port}/scheduler", TLSFiles())
    with served_as(with_server(ConsoleContents(LiveSource(ALL_NODES, PODS)), server, no_checks)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(HAS_PODS)
        ask(gateway_port, "of-both")
        tab.open(f"{console.origin}/#/decisions")
        tab.wait_for(f"({ROWS}).includes('filter ml/of-both')")


def test_server_that_does_not_answer_is_named(tab: Tab) -> None:
    server = running_server("http://127.0.0.1:1/scheduler", TLSFiles())
    with served_as(with_server(ConsoleContents(LiveSource(ALL_NODES, PODS)), server, no_checks)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(HAS_PODS)
        tab.open(f"{console.origin}/#/decisions")
        tab.wait_for("document.getElementById('decisions-empty').innerText.includes('connection refused')")
