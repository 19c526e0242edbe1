"""Names, labels, taints and all other texts from a cluster, its users or plugins are shown as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.taints import Taint
from berth.scheduling.objects import LabelSet, Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.decisions import Decision, DecisionSource
from berth_cli.console.gangs import GangDocuments
from berth_cli.console.running import ConsoleContents
from berth_cli.explanation.rules import Rejection, Rules
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served, served_as
from tests.console.test_overview import HAS_PODS, IS_CURRENT, ROWS
from tests.unit.cli.console.cases import node, pod

NO_ELEMENTS = "document.querySelectorAll('main img, #status img, body script, main style, iframe').length === 0"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`${alert(3)}&lt;"


def test_hostile_texts_are_shown_as_plain_text(tab: Tab) -> None:
    bad_node = replace(
        node("n", labels={HOSTILE: HOSTILE, "pool": HOSTILE}),
        name=HOSTILE,
        taints=(Taint(HOSTILE, HOSTILE, HOSTILE),),
        allocatable={HOSTILE: 5, "cpu": 4000},
    )
    bad_pod = pod("p", labels={"pod-group.scheduling.sigs.k8s.io": HOSTILE})
    bad_pod = replace(
        bad_pod,
        name=HOSTILE,
        node_name=HOSTILE,
        label_set=LabelSet(HOSTILE, bad_pod.labels),
        spec=replace(bad_pod.spec, scheduler_name=HOSTILE),
    )
    pods = [bad_pod, *(pod(f"p{number}", "n1") for number in range(29))]
    with served(LiveSource([bad_node, node("n1", labels={"pool": "x"})], pods)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.wait_for(HAS_PODS)
        query = f"group=${{encodeURIComponent({HOSTILE!r})}}&node=${{encodeURIComponent({HOSTILE!r})}}"
        tab.evaluate(f"location.hash = `#/overview?label=pool&resource=${{encodeURIComponent({HOSTILE!r})}}&{query}`")
        tab.wait_for(f"({ROWS})[0]?.includes('onerror')")
        assert tab.evaluate(ROWS) == [f"{HOSTILE}/{HOSTILE}"]
        assert tab.text("#details h2") == HOSTILE
        assert HOSTILE in tab.text("#overview-caption")
        # On the map, too.
        assert tab.evaluate("document.querySelector('#map .cell').title").count(HOSTILE) >= 2
        assert tab.evaluate(NO_ELEMENTS)


class HostileSource(LiveSource):
    """A source with a hostile name, such as a kubeconfig that somebody else wrote."""

    @property
    def name(self) -> str:
        return HOSTILE


def test_hostile_source_is_shown_as_plain_text(tab: Tab) -> None:
    source = HostileSource([node("n1")])
    with served(source) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        assert HOSTILE in tab.text("#status")
        source.shows([node("n1")], problem=f"problem {HOSTILE}")
        tab.wait_for("document.getElementById('status').dataset.kind === 'stale'")
        assert f"problem {HOSTILE}" in tab.text("#status")
        assert tab.evaluate(NO_ELEMENTS)


FULL = ActiveConfiguration.of(BerthConfiguration.model_validate({"profile": "full", "gangs": {"enabled": True}}))
REASON = {"reason": HOSTILE, "plugin": HOSTILE, "code": HOSTILE, "count": 1, "nodes": [HOSTILE]}


class HostileDecisions(DecisionSource):
    """One decision with the hostile text in its text fields."""

    decision: Mapping[str, Any] = {
        "time": 1.0,
        "verb": HOSTILE,
        "namespace": HOSTILE,
        "name": HOSTILE,
        "outcome": HOSTILE,
        "milliseconds": 1.0,
        "profile": HOSTILE,
        "cacheAgeSeconds": 1.0,
        "nodes": 1,
        "feasible": 0,
        "chosen": HOSTILE,
        "reasons": [REASON],
        "victims": {HOSTILE: 1},
        "error": HOSTILE,
        "best": [{"node": HOSTILE, "score": 7, "byPlugin": {HOSTILE: 7}}],
    }

    def all(self) -> Sequence[Decision]:
        details = {**self.decision, "rejected": [REASON], "scores": [{"node": HOSTILE, "score": 7}]}
        return [Decision(1, self.decision, lambda _: True, lambda: details)]

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, object]]:
        return []


def hostile_gangs(*_: object) -> bytes:
    members = {"exist": 1, "inBind": 0, "onNodes": 0}
    gang = {"gang": f"default/{HOSTILE}", "state": HOSTILE, "waitsFor": HOSTILE, "minimum": 2, "members": members}
    return orjson.dumps({"gangs": [{**gang, "priority": 0}], "open": HOSTILE, "compared": True})


REJECTED = Rules.rejected


def hostile_rejected(rules: Rules, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Rejection]:
    """Put the hostile text into each reason, as a custom plugin can. Berth's own rules do not quote objects."""
    return {
        name: replace(each, status=replace(each.status, reasons=(HOSTILE,), plugin=HOSTILE))
        for name, each in REJECTED(rules, pod, names, snapshot).items()
    }


def hostile_console() -> ConsoleContents:
    """Return a console with a hostile pending pod, a hostile gang member and a hostile decision."""
    alone = pod("alone", requests={"cpu": "99"})
    alone = replace(alone, name=HOSTILE, label_set=LabelSet(HOSTILE, alone.labels), annotations={HOSTILE: HOSTILE})
    # Berth rejects a gang name with such characters, so only the member's texts are hostile.
    annotations = {"berth.dev/gang": "train", "berth.dev/gang-size": "2", HOSTILE: HOSTILE}
    member = replace(pod("member"), name=f"{HOSTILE} 2", annotations=annotations)
    return ConsoleContents(LiveSource([node("n1")], [alone, member], FULL), HostileDecisions())


@pytest.mark.parametrize(
    ("fragment", "places"),
    [
        pytest.param("pending?pod=POD", ("#reasons", "#pending-grid", "#gangs-list", "#explanation"), id="pending"),
        pytest.param("pending?gang=default/train", ("#gang",), id="a gang explained"),
        pytest.param("decisions?decision=1%401.0", ("#decisions-grid", "#decision"), id="decisions"),
    ],
)
def test_hostile_texts_of_a_view_are_shown_as_plain_text(
    tab: Tab, fragment: str, places: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rules, "rejected", hostile_rejected)
    monkeypatch.setattr(GangDocuments, "gangs", hostile_gangs)
    with served_as(hostile_console()) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.evaluate(f"window.hostile = {HOSTILE!r}")
        tab.evaluate(f"location.hash = '#/{fragment}'.replace('POD', encodeURIComponent(`${{hostile}}/${{hostile}}`))")
        for place in places:
            tab.wait_for(f"document.querySelector('{place}').innerText.includes(hostile)")
        assert tab.evaluate(NO_ELEMENTS)
