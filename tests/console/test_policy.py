"""The view of the policy in force and a second one."""

from __future__ import annotations

from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.policy.documents import SecondPolicy
from berth_cli.console.running import ConsoleContents
from tests.builders.nodes import PRIORITY
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served, served_as
from tests.console.test_overview import IS_CURRENT
from tests.console.test_pending import FULL
from tests.unit.cli.console.cases import node, pod
from tests.unit.cli.console.policy.test_replay import play
from tests.unit.cli.recording.recorded import recording

PROPOSED = SecondPolicy("proposed.yaml", BerthConfiguration.model_validate({"profile": "label-priority"}))
PLACES = {"before": "n1", "after": None}
NODES = [node("n1"), node("n2", labels={PRIORITY: "5"}, allocatable={"cpu": "1"})]


def test_second_policy_is_compared_on_the_pending_pods(tab: Tab) -> None:
    with served(LiveSource(NODES, [pod("p")], FULL), second=PROPOSED) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.querySelectorAll('pre').length === 2")
        assert "profile: full" in tab.text("#policy-texts")
        tab.evaluate("document.getElementById('compare-run').click()")
        tab.wait_for("document.getElementById('compare-summary').innerText.startsWith('1 pending pods placed by both')")
        assert tab.evaluate("document.querySelector('#compare-grid .grid-body').innerText.includes('default/p')")


def test_says_how_to_give_a_second_policy(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.getElementById('policy-texts').innerText.includes('--compare FILE')")
        assert tab.evaluate("document.getElementById('compare-run').hidden")


def test_live_decisions_that_both_judge_are_shown_as_they_come(tab: Tab) -> None:
    found: dict[str, object] = {"decisions": {}, "disagreements": []}
    with served_as(ConsoleContents(LiveSource(NODES), second=PROPOSED, shadow=lambda: dict(found))) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.getElementById('shadow-summary').innerText.startsWith('No live decision')")
        rule = {"plugin": "NodePriorityLabel", "reason": "no label", "nodes": 3}
        found["disagreements"] = [
            {**PLACES, "time": 5.0, "namespace": "ml", "name": "p", "result": "newly-pending", "rules": [rule]}
        ]
        found["decisions"] = {"newly-pending": 1}
        tab.wait_for("document.getElementById('shadow').innerText.includes('3 \u00d7 NodePriorityLabel: no label')")
        assert tab.text("#shadow-summary") == "Live decisions judged by both: 1 newly-pending"


def test_console_without_a_shadow_says_how_to_start_one(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.getElementById('shadow-summary').innerText.includes('--shadow FILE')")


def test_recording_is_replayed_at_the_press_of_a_button(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "monday.rec"
    recording(path, play, {"profile": "full"})
    with served_as(ConsoleContents(LiveSource(NODES, (), FULL), second=PROPOSED, recording=path)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.open(f"{console.origin}/#/policy")
        tab.wait_for("document.getElementById('replay-run').innerText.includes('monday.rec')")
        tab.evaluate("document.getElementById('replay-run').click()")
        tab.wait_for("document.getElementById('replay-summary').innerText.startsWith('3 recorded pods judged by both')")
        assert tab.evaluate("document.querySelectorAll('#replay-grid .grid-body [role=row]').length") == 3
