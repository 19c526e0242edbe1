"""The map: the color of each node, and what is opened on it."""

from __future__ import annotations

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import HAS_PODS, NODES, PODS, ROWS, opened
from tests.unit.cli.console.cases import node, pod

GPU = "example.com/gpu"
COUNTED = ActiveConfiguration.of(
    BerthConfiguration.model_validate({"profile": "full", "managedResources": [{"name": GPU}]})
)
CELLS = "[...document.querySelectorAll('#map .cell')]"
# Two of four are in use, none, and more than there are.
GPU_NODES = [node(f"n{number:04}", allocatable={GPU: "4"}) for number in range(1500)]
GPU_PODS = [
    pod(f"p{number}-{at}", f"n{number:04}", requests={GPU: str(2 + at)})
    for number in range(1500)
    for at in range((1, 0, 2)[number % 3])
]


def test_counted_resource_is_marked_and_colors_nodes_by_their_share(tab: Tab) -> None:
    with served(LiveSource(GPU_NODES, GPU_PODS, COUNTED)) as console:
        opened(tab, console, f"#/overview?resource={GPU}&label=")
        said = f"1500 nodes, 1500 pods; {GPU}: 58 % (3,500 of 6,000)"
        tab.wait_for(f"document.getElementById('summary').innerText === '{said}'")
        assert f"{GPU} (counted)" in tab.text("#resource")
        wanted = tab.evaluate("import('/model/colours.js').then(({ colourOf }) => [0.5, 0, 1.1].map(colourOf))")
        assert tab.evaluate(f"{CELLS}.slice(0, 3).map(({{ style }}) => style.backgroundColor)") == wanted


def test_clicking_the_map_opens_a_group_and_a_node(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console)
        tab.wait_for(HAS_PODS)
        tab.evaluate("document.querySelectorAll('#map figcaption')[1].click()")
        tab.wait_for("location.hash === '#/overview?group=zone-1'")
        assert tab.evaluate(f"{CELLS}.map(({{ dataset }}) => dataset.item)") == ["n1", "n4", "n7", "n10"]
        tab.evaluate(f"{CELLS}[1].click()")
        tab.wait_for("location.hash === '#/overview?group=zone-1&node=n4'")
        tab.wait_for(f"({ROWS})[0] === 'default/p4'")
        assert tab.evaluate(f"{CELLS}.map(({{ className }}) => className.includes('marked'))") == [
            False,
            True,
            False,
            False,
        ]


def test_cell_says_its_node_its_use_and_its_state(tab: Tab) -> None:
    drained = node("drained", unschedulable=True, status={"conditions": [{"type": "Ready", "status": "False"}]})
    with served(LiveSource([drained], [pod("alone", "drained", requests={"cpu": "2"})])) as console:
        opened(tab, console)
        tab.wait_for(f"{CELLS}.length === 1")
        assert tab.evaluate(f"{CELLS}[0].title") == "drained (not ready, unschedulable)\ncpu: 50 % (2 of 4)"
        assert tab.evaluate(f"{CELLS}[0].className.trim()") == "cell not-ready unschedulable"


def test_groups_stand_beside_each_other_on_a_wide_map(tab: Tab) -> None:
    nodes = [node(f"n{number}", labels={"topology.kubernetes.io/zone": f"z{number % 3}"}) for number in range(60)]
    with served(LiveSource(nodes)) as console:
        opened(tab, console)
        tab.wait_for(f"{CELLS}.length === 60")
        tops = tab.evaluate("[...document.querySelectorAll('#map figure')].map((each) => each.offsetTop)")
        assert len(set(tops)) < 3
