"""The overview on a changing cluster: rows, details, links and announcements."""

from __future__ import annotations

from dataclasses import replace

from berth.configuration.store import ActiveConfiguration
from tests.builders.counted import configuration
from tests.console.chromium import Tab
from tests.console.served import LiveSource, Served, served
from tests.unit.cli.console.cases import node, pod

ZONE = "topology.kubernetes.io/zone"
NODES = [node(f"n{number}", labels={ZONE: f"zone-{number % 3}"}) for number in range(12)]
PODS = [pod(f"p{number}", f"n{number % 12}", requests={"cpu": "500m"}) for number in range(30)]
IS_CURRENT = "document.getElementById('status').dataset.kind === 'current'"
HAS_PODS = "document.getElementById('summary').innerText.includes('30 pods')"
IS_SEEN = "document.getElementById('{}').checkVisibility()"
ROWS = "[...document.querySelectorAll('.grid-body [role=row]')].map((row) => row.children[0].innerText)"


def opened(tab: Tab, console: Served, fragment: str = "") -> None:
    """Open the newest address, and then this fragment."""
    tab.open(console.addresses[-1])
    tab.wait_for(IS_CURRENT)
    if fragment:
        tab.open(f"{console.origin}/{fragment}")


def test_overview_shows_groups_and_opens_nodes_and_pods_by_keyboard(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console)
        tab.wait_for(HAS_PODS)
        assert tab.evaluate("location.hash") == "#/overview"
        assert tab.text("#summary") == "12 nodes, 30 pods; cpu: 31 % (15 of 48)"
        assert tab.evaluate(ROWS) == ["zone-0", "zone-1", "zone-2"]
        tab.evaluate("document.querySelector('.grid [tabindex=\"0\"]').focus()")
        tab.press("ArrowDown")
        tab.press("Enter")
        tab.wait_for(f"({ROWS})[0] === 'n1'")
        assert tab.evaluate(ROWS) == ["n1", "n4", "n7", "n10"]
        assert tab.evaluate("location.hash") == "#/overview?group=zone-1"
        # The focus is on the first node.
        tab.press("End", 2)
        tab.press("Enter")
        tab.wait_for(f"({ROWS})[0] === 'default/p10'")
        assert tab.evaluate("location.hash") == "#/overview?group=zone-1&node=n10"
        assert tab.text("#details h2") == "n10"
        tab.evaluate("history.back()")
        tab.wait_for(f"({ROWS})[0] === 'n1'")


def test_map_shortens_zone_names_in_the_middle_and_shows_the_pool_of_a_node(tab: Tab) -> None:
    labels = [{ZONE: f"eu-central-1{letter}", "karpenter.sh/nodepool": "spot"} for letter in "aabb"]
    with served(LiveSource([node(f"n{at}", labels=each) for at, each in enumerate(labels)])) as console:
        opened(tab, console, "#/overview?group=eu-central-1a&node=n0")
        tab.wait_for("document.querySelector('#details h2') !== null")
        assert tab.evaluate("document.querySelector('#map i').title") == "n0\nnodepool: spot\ncpu: 0 % (0 of 4)"
        assert "nodepool: spot" in tab.text("#details")
        assert tab.text("#map figcaption") == "eu-c…1a · 2"
        assert tab.evaluate("document.querySelector('#map figcaption').title") == "eu-central-1a"


def test_overview_has_a_bar_for_each_floating_pool(tab: Tab) -> None:
    seat = {"name": "example.com/seat", "capacity": {"value": 12, "scope": "cluster"}}
    configured = ActiveConfiguration.of(configuration(seat))
    asked = {"example.com/seat": "9"}
    pods = [pod("held", "n0", requests=asked), replace(pod("waits", requests=asked), waits_for_pool=True)]
    with served(LiveSource(NODES, pods, configured)) as console:
        opened(tab, console)
        tab.wait_for(IS_SEEN.format("pools"))
        assert tab.text("#pools td:first-child") == "example.com/seat@cluster"
        assert tab.text("#pools .number") == "9 of 12"
        assert tab.evaluate("document.querySelector('#pools .bar').style.getPropertyValue('--share')") == "0.75"
        assert tab.text("#pools td:last-child") == "waiting 1"
        tab.open(f"{console.origin}/#/overview?node=n0")
        tab.wait_for(f"!{IS_SEEN.format('pools')}")


def test_overview_omits_floating_pools_if_there_are_none(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        opened(tab, console)
        assert not tab.evaluate(IS_SEEN.format("pools"))
