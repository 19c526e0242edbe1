"""The view of health: facts, calls over time, and the checks of doctor."""

from __future__ import annotations

from time import time

from berth.configuration.store import Configurations
from berth.decisions.recent import RecentDecisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.health.tables import ConsoleTables
from berth_cli.doctor.findings import CheckName, failed, ok
from berth_cli.embedded_store.configuration_store import InMemoryConfigurationStore
from berth_cli.embedded_store.lease_lock import InMemoryLeaseLock
from tests.builders.nodes import node_with
from tests.builders.requests import cache_mode
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT
from tests.console.test_pending import FULL, NODES, PODS
from tests.fakes.published import PublishedCluster
from tests.fakes.verbs import Verbs


def tables() -> ConsoleTables:
    cluster = PublishedCluster()
    cluster.publish("nodes", [node_with("n1")])
    configurations = Configurations(InMemoryConfigurationStore(cluster.item), BerthConfiguration)
    return ConsoleTables(cluster.table, InMemoryLeaseLock(cluster.item, lambda: "id"), configurations)


def test_health_names_the_leader_and_hides_the_map(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS, FULL), tables=tables()) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/health")
        tab.wait_for("document.querySelectorAll('.card').length > 2")
        assert "watcher" in tab.text("#health-content")
        assert tab.evaluate("document.getElementById('map').clientHeight") == 0


def test_calls_are_shown_over_time(tab: Tab) -> None:
    recent = RecentDecisions(time)
    verbs = Verbs(NODES, recorder=recent)
    with served(LiveSource(NODES, PODS, FULL), recent=recent) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        verbs.ask("filter", cache_mode(["n1", "n2"]))
        tab.open(f"{console.origin}/#/health")
        tab.wait_for("document.getElementById('health-charts').innerText.includes('filter 1 call in')")


def test_checks_of_doctor_run_when_they_are_asked_for_and_what_failed_comes_first(tab: Tab) -> None:
    found = [ok(CheckName.CACHE, "data is 1 s old"), failed(CheckName.WEIGHT, "weight is 0", "set a weight")]
    with served(LiveSource(NODES), doctor=lambda: found) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/health")
        tab.wait_for("document.querySelectorAll('#health-content .card').length === 1")
        assert tab.text("#doctor-line") == ""
        tab.evaluate("document.getElementById('doctor-run').focus()")
        tab.press("Enter")
        tab.wait_for("document.getElementById('doctor-line').innerText === '1 ok, 1 failed'")
        lines = tab.evaluate("[...document.querySelectorAll('#doctor-findings li')].map((each) => each.innerText)")
        assert [line.split("\n")[0] for line in lines] == ["failed weight: weight is 0", "ok cache: data is 1 s old"]
        assert "set a weight" in lines[0]
        tab.wait_for("document.activeElement.id === 'doctor-run'")
