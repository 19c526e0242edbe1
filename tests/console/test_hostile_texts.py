"""Names, labels, taints and everything else that others choose are shown as the texts that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import time
from typing import Any

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.taints import Taint
from berth.scheduling.objects import LabelSet, Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.decisions.source import DecisionSource
from berth_cli.console.health.calls import Call
from berth_cli.console.health.source import HealthSource
from berth_cli.console.pending.gangs import GangSource
from berth_cli.console.policy.documents import PolicyDocuments, SecondPolicy
from berth_cli.console.policy.replay import ReplayDocuments
from berth_cli.console.running import ConsoleContents
from berth_cli.doctor.findings import CheckName, Finding, failed
from berth_cli.explain.rules import Rejection, Rules
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served, served_as
from tests.console.test_map import BOX
from tests.console.test_overview import HAS_PODS, IS_CURRENT, ROWS
from tests.unit.cli.console.cases import node, pod

NO_ELEMENTS = "document.querySelectorAll('main img, #status img, body script, main style, iframe').length === 0"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`${alert(3)}&lt;"


def test_hostile_texts_are_shown_and_do_nothing(tab: Tab) -> None:
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
        assert HOSTILE in tab.text("#caption")
        # Beside the pointer, too.
        box = tab.evaluate(BOX)
        tab.point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tab.wait_for("document.getElementById('tip').checkVisibility()")
        assert tab.text("#tip").count(HOSTILE) >= 3
        assert tab.evaluate(NO_ELEMENTS)


class HostileSource(LiveSource):
    """A kubeconfig whose name, and whose problem, somebody else has chosen."""

    @property
    def name(self) -> str:
        return HOSTILE


def test_hostile_source_is_named_and_does_nothing(tab: Tab) -> None:
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
    """One decision, with the text wherever a record has one."""

    decision: Mapping[str, Any] = {
        "number": 1,
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

    def after(self, number: int) -> Sequence[Mapping[str, object]]:
        return [] if number else [self.decision]

    def details(self, number: int) -> Mapping[str, object]:
        return {**self.decision, "rejected": [REASON], "scores": [{"node": HOSTILE, "score": 7}]}

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, object]]:
        return []

    def of_node(self, node: str) -> Sequence[int]:
        return [1]

    def calls(self) -> Sequence[Call]:
        return [Call(time() - 1, HOSTILE, 1.0)]


class HostileHealth(HealthSource):
    """The same for the facts of an installation."""

    def facts(self, wall: float) -> Mapping[str, object]:
        reservation = {"pod": HOSTILE, "node": HOSTILE, "state": HOSTILE, "holds": {HOSTILE: 1}, "why": HOSTILE}
        return {
            "cache": {"status": HOSTILE, "reason": HOSTILE, "configurationHash": HOSTILE, "writerVersion": HOSTILE},
            "leader": {"holder": HOSTILE, "renewedSecondsAgo": 1, "leaseDurationSeconds": 1, "transitions": 1},
            "published": {"version": HOSTILE, "resources": {HOSTILE: {"ageSeconds": 1, "listedAgeSeconds": 1}}},
            "reservations": {"count": 1, "open": 1, "owed": 0, "rebuilding": 0, "reservations": [reservation]},
        }


class HostileGangs(GangSource):
    """The same for a gang."""

    def gangs(self, now: float) -> Mapping[str, Any]:
        members = {"exist": 1, "inBind": 0, "onNodes": 0}
        gang = {"gang": f"default/{HOSTILE}", "state": HOSTILE, "waitsFor": HOSTILE, "minimum": 2, "members": members}
        return {"gangs": [{**gang, "priority": 0}], "open": HOSTILE, "compared": True}


def hostile_findings() -> list[Finding]:
    return [failed(CheckName.CACHE, HOSTILE, HOSTILE)]


def hostile_shadow() -> Mapping[str, object]:
    rule = {"plugin": HOSTILE, "reason": HOSTILE, "nodes": 1}
    named = {"time": 1.0, "namespace": HOSTILE, "name": HOSTILE, "result": HOSTILE, "before": HOSTILE}
    return {"decisions": {HOSTILE: 1}, "disagreements": [{**named, "after": HOSTILE, "rules": [rule]}]}


def hostile_diff(*_: object) -> bytes:
    """Of a comparison or a replay: a pod that goes elsewhere, and why."""
    place = {"state": HOSTILE, "node": HOSTILE}
    found = {"namespace": HOSTILE, "name": HOSTILE, "effect": HOSTILE, "before": place, "after": place}
    document = {"headline": HOSTILE, "judged": 1, "notes": [HOSTILE], "pods": [found], "messages": [HOSTILE]}
    return orjson.dumps(document)


REJECTED = Rules.rejected


def hostile_rejected(rules: Rules, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Rejection]:
    """As a plugin of a user's own may say it: the reasons of Berth's rules have nothing of objects in them."""
    return {
        name: replace(each, status=replace(each.status, reasons=(HOSTILE,), plugin=HOSTILE))
        for name, each in REJECTED(rules, pod, names, snapshot).items()
    }


def hostile_console() -> ConsoleContents:
    """A pending pod and its gang, and every source that has texts of others."""
    alone = pod("alone", requests={"cpu": "99"})
    alone = replace(alone, name=HOSTILE, label_set=LabelSet(HOSTILE, alone.labels), annotations={HOSTILE: HOSTILE})
    # The names of gangs are names: Berth takes no other ones. Those of its members are shown.
    annotations = {"berth.dev/gang": "train", "berth.dev/gang-size": "2", HOSTILE: HOSTILE}
    member = replace(pod("member"), name=f"{HOSTILE} 2", annotations=annotations)
    return ConsoleContents(
        LiveSource([node("n1")], [alone, member], FULL),
        HostileHealth(),
        HostileDecisions(),
        SecondPolicy(HOSTILE, BerthConfiguration.model_validate({"profile": "full"})),
        HostileGangs(),
        doctor=hostile_findings,
        shadow=hostile_shadow,
        recording=Path(HOSTILE.replace("/", "-")),
    )


@pytest.mark.parametrize(
    ("fragment", "places"),
    [
        pytest.param("pending?pod=POD", ("#reasons", "#pending-grid", "#gangs-list", "#explanation"), id="pending"),
        pytest.param("pending?gang=default/train", ("#gang",), id="a gang explained"),
        pytest.param("decisions?decision=1", ("#decisions-grid", "#decision"), id="decisions"),
        pytest.param(
            "health", ("#health-content", "#health-charts", "#health-reservations", "#doctor-findings"), id="health"
        ),
        pytest.param(
            "policy",
            ("#policy-texts", "#shadow-summary", "#shadow", "#compare-summary", "#compare-grid", "#replay-grid"),
            id="policy",
        ),
    ],
)
def test_hostile_texts_of_a_view_are_shown_and_do_nothing(
    tab: Tab, fragment: str, places: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rules, "rejected", hostile_rejected)
    monkeypatch.setattr(PolicyDocuments, "diff", hostile_diff)
    monkeypatch.setattr(ReplayDocuments, "replay", hostile_diff)
    monkeypatch.setattr("berth_cli.console.policy.documents.to_yaml", lambda _: f"definitions: {HOSTILE}")
    with served_as(hostile_console()) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.evaluate(f"window.hostile = {HOSTILE!r}")
        tab.evaluate(f"location.hash = '#/{fragment}'.replace('POD', encodeURIComponent(`${{hostile}}/${{hostile}}`))")
        for button in ("doctor", "compare", "replay"):
            tab.evaluate(f"document.getElementById('{button}-run').click()")
        for place in places:
            tab.wait_for(f"document.querySelector('{place}').innerText.includes(hostile)")
        assert tab.evaluate(NO_ELEMENTS)
