"""Names, labels, taints and everything else that others choose are shown as the texts that they are."""

from __future__ import annotations

from dataclasses import replace

from berth.scheduling.fields.taints import Taint
from berth.scheduling.objects import LabelSet
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import HAS_PODS, IS_CURRENT, ROWS
from tests.unit.cli.console.cases import node, pod

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
        assert tab.evaluate("document.querySelectorAll('img, main script').length") == 0
        assert tab.violations == []
