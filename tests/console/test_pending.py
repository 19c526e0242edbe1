"""The view of pending pods: the list by reason, the map beside the list, and explanations."""

from __future__ import annotations

import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.gangs import member
from tests.builders.planned import gang_configuration
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT
from tests.unit.cli.console.cases import node, pod

FULL = ActiveConfiguration.of(BerthConfiguration.model_validate({"profile": "full"}))
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
NODES = [node("n1"), node("n2", taints=[TAINT])]
PODS = [pod("fits"), pod("large", requests={"cpu": "9"}), pod("gated", schedulingGates=[{"name": "quota"}])]
GANGS = ActiveConfiguration.of(gang_configuration())
TRAIN = [member(f"train-{at}", "train", 2, requests={"cpu": "3"}) for at in range(2)]
ROWS = "[...document.querySelectorAll('#pending-grid .grid-body [role=row]')].map((row) => row.children[0].innerText)"
# wait_for gives up two seconds before its limit.
WITHIN_TWO_SECONDS = 4


def test_pending_pods_are_grouped_by_reason_and_a_pod_can_be_explained(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS, FULL)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.evaluate("document.querySelector('[data-view=pending]').click()")
        tab.wait_for(f"({ROWS}).length === 3")
        assert tab.text("#pending-caption") == ("3 pending pods: 1 unschedulable, 1 schedulable now, 1 undetermined")
        tab.evaluate("document.querySelector('[data-category=unschedulable]').click()")
        tab.wait_for(f"({ROWS}).length === 1")
        assert tab.evaluate("location.hash") == "#/pending?category=unschedulable"
        reasons = "[...document.querySelectorAll('.reason-text')].map((each) => each.innerText)"
        assert tab.evaluate(reasons) == ["Insufficient cpu", "node(s) had untolerated taint(s)"]
        tab.evaluate("document.querySelector('#pending-grid [role=gridcell]').click()")
        tab.wait_for("document.getElementById('explanation').innerText.includes('What would place it')")
        shown = tab.text("#explanation")
        assert "default/large: pending: 0 of 2 nodes fit" in shown
        assert "lower the pod's request of cpu from 9 to 4" in shown


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1440, 900)])
def test_explanation_is_beside_the_list_and_keeps_the_focus_until_escape(tab: Tab, width: int, height: int) -> None:
    tab.resize(width, height)
    large = [pod(f"large-{at}", requests={"cpu": f"{at + 9}"}) for at in range(30)]
    with served(LiveSource(NODES, [*PODS, *large], FULL)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.evaluate("document.querySelector('[data-view=pending]').click()")
        tab.wait_for(f"({ROWS}).length === 33")
        tab.evaluate("document.querySelector('#pending-grid .grid-body [tabindex]').focus()")
        tab.press("End")
        tab.press("Enter")
        heading = "document.querySelector('#explanation h3')"
        assert tab.evaluate(f"document.activeElement === {heading}")
        tab.wait_for(f"{heading}.innerText.includes('0 of 2 nodes fit')")
        # The answer came meanwhile, and the focus stayed.
        assert tab.evaluate(f"document.activeElement === {heading}")
        selected = "document.querySelector('[aria-selected=true]')"
        for shown in (heading, selected):
            assert tab.evaluate(f"{shown}.getBoundingClientRect().top") >= 0
            assert tab.evaluate(f"{shown}.getBoundingClientRect().bottom") < height + 1
        sides = "document.getElementById('{}').getBoundingClientRect().{}"
        assert tab.evaluate(sides.format("pending-grid", "right")) < tab.evaluate(sides.format("explanation", "left"))
        tab.press("Escape")
        assert tab.evaluate(f"document.activeElement === {selected}")


def test_pending_tab_updates_its_number_of_pods_while_another_view_is_shown(tab: Tab) -> None:
    source = LiveSource(NODES, PODS, FULL)
    with served(source) as console:
        tab.open(console.addresses[-1])
        tab.wait_for("document.querySelector('[data-view=pending]').innerText === 'Pending 3'")
        source.shows(NODES)
        tab.wait_for("document.querySelector('[data-view=pending]').innerText.trim() === 'Pending'", WITHIN_TWO_SECONDS)


def test_map_is_folded_on_a_phone_so_that_the_list_is_on_the_first_screen(tab: Tab) -> None:
    is_open = "document.getElementById('map').checkVisibility()"
    with served(LiveSource(NODES, PODS, FULL)) as console:
        tab.resize(390, 844)
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        assert not tab.evaluate(is_open)
        tab.evaluate("document.querySelector('[data-view=pending]').click()")
        tab.wait_for(f"({ROWS}).length === 3")
        assert tab.evaluate("document.querySelector('#pending-grid tbody').getBoundingClientRect().bottom") < 844
        tab.evaluate("document.querySelector('#map-fold > summary').click()")
        assert tab.evaluate(is_open)


def test_explanation_changes_with_the_cluster(tab: Tab) -> None:
    source = LiveSource(NODES, PODS, FULL)
    with served(source) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/pending?pod=default/large")
        tab.wait_for("document.getElementById('explanation').innerText.includes('0 of 2 nodes fit')")
        larger = node("n3", allocatable={"cpu": "16"})
        source.shows([*NODES, larger], PODS)
        explained = "document.getElementById('explanation').innerText"
        tab.wait_for(f"{explained}.includes('1 of 3 nodes fit')", WITHIN_TWO_SECONDS)
        source.shows([*NODES, larger], [PODS[0], pod("large", "n3", requests={"cpu": "9"})])
        tab.wait_for(f"{explained}.includes('is not pending: it has a node or is gone')", WITHIN_TWO_SECONDS)


def test_gang_is_listed_with_its_missing_members_and_explained_by_keyboard(tab: Tab) -> None:
    source = LiveSource(NODES[:1], TRAIN[:1], GANGS)
    with served(source) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/pending")
        tab.wait_for("document.getElementById('gangs-caption').innerText === '1 gang, 1 waiting'")
        assert "1 of 2 members exist" in tab.text("#gangs-list")
        source.shows(NODES[:1], TRAIN)
        tab.wait_for("document.getElementById('gangs-list').innerText.includes('does-not-fit')")
        tab.evaluate("document.querySelector('[data-gang]').focus()")
        tab.press("Enter")
        tab.wait_for("document.getElementById('gang').innerText.includes('Insufficient cpu')")
        assert tab.evaluate("location.hash") == "#/pending?gang=ml%2Ftrain"
        shown = tab.text("#gang")
        assert "gang ml/train: pending: 2 members wait for a node, 2 are needed" in shown
        assert "ml/train-0\tplanned\tn1" in shown
        assert "What would place it" in shown
        assert "lower each member's request of cpu from 3 to 2" in shown
        # The gang has room now: the explanation changes, and the focus stays on the gang.
        source.shows([*NODES[:1], node("n9")], TRAIN)
        tab.wait_for("!document.getElementById('gang').innerText.includes('Insufficient cpu')")
        tab.wait_for("document.activeElement.dataset.gang === 'ml/train'")
