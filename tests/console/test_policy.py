"""The view of the policy in force and a second one."""

from __future__ import annotations

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.policy.documents import SecondPolicy
from tests.builders.nodes import PRIORITY
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT
from tests.console.test_pending import FULL
from tests.unit.cli.console.cases import node, pod

PROPOSED = SecondPolicy("proposed.yaml", BerthConfiguration.model_validate({"profile": "label-priority"}))
NODES = [node("n1"), node("n2", labels={PRIORITY: "5"}, allocatable={"cpu": "1"})]


def test_second_policy_is_compared_on_the_pending_pods(tab: Tab) -> None:
    with served(LiveSource(NODES, [pod("p")], FULL), second=PROPOSED) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.querySelectorAll('pre').length === 2")
        assert "profile: full" in tab.text("#policy-texts")
        tab.evaluate("document.getElementById('policy-compare').click()")
        tab.wait_for("document.getElementById('policy-summary').innerText.startsWith('1 pending pods placed by both')")
        assert tab.evaluate("document.querySelector('#policy-grid .grid-body').innerText.includes('default/p')")


def test_says_how_to_give_a_second_policy(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.getElementById('policy-texts').innerText.includes('--compare FILE')")
        assert tab.evaluate("document.getElementById('policy-compare').hidden")
