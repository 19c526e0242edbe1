"""The map: what is drawn, what is under the pointer, and how it moves."""

from __future__ import annotations

from itertools import product

import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import HAS_PODS, IS_CURRENT, NODES, PODS, opened
from tests.unit.cli.console.cases import node, pod

GPU = "example.com/gpu"
COUNTED = ActiveConfiguration.of(
    BerthConfiguration.model_validate({"profile": "full", "managedResources": [{"name": GPU}]})
)
BOX = "document.getElementById('map').getBoundingClientRect().toJSON()"
FRAME = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))"
# So many that their pods are not drawn. Two of four are in use, none, and more than there are.
GPU_NODES = [node(f"n{number}", allocatable={GPU: "4"}) for number in range(1500)]
GPU_PODS = [
    pod(f"p{number}-{at}", f"n{number}", requests={GPU: str(2 + at)})
    for number in range(1500)
    for at in range((1, 0, 2)[number % 3])
]


def drawn(tab: Tab) -> None:
    """Wait until pods are on the map."""
    tab.wait_for(HAS_PODS)
    tab.evaluate(FRAME)


def reloaded(tab: Tab) -> None:
    """Load the page again, and wait until pods are on the map."""
    tab.reload()
    tab.wait_for(IS_CURRENT)
    drawn(tab)


def colours(tab: Tab) -> set[str]:
    """Of the pixels of the map."""
    found: list[str] = tab.evaluate(
        """(() => {
            const canvas = document.getElementById('map');
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const found = new Set();
            for (let at = 0; at < data.length; at += 4) {
              found.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
            }
            return [...found];
        })()"""
    )
    return set(found)


def test_counted_resource_is_marked_and_colours_nodes_by_their_share(tab: Tab) -> None:
    with served(LiveSource(GPU_NODES, GPU_PODS, COUNTED)) as console:
        opened(tab, console, f"#/overview?resource={GPU}&label=")
        said = f"1500 nodes, 1500 pods; {GPU}: 58 % (3,500 of 6,000)"
        tab.wait_for(f"document.getElementById('summary').innerText === '{said}'")
        assert f"{GPU} (counted)" in tab.text("#resource")
        tab.evaluate(FRAME)
        scale, wanted = tab.evaluate(
            "import('/model/map/colours.js').then(({ BEYOND, colourOf, stepOf, STEPS }) =>"
            " [Array.from({ length: STEPS + 1 }, (_, step) => colourOf(step)),"
            " [colourOf(stepOf(0.5)), colourOf(stepOf(0)), BEYOND]])"
        )
        assert colours(tab) & set(scale) == set(wanted)


def test_clicking_the_map_opens_a_node_and_its_pods_are_drawn_and_named(tab: Tab) -> None:
    with served(LiveSource(NODES[:1], [pod("alone", "n0", requests={"cpu": "2"})])) as console:
        opened(tab, console)
        tab.wait_for("document.getElementById('summary').innerText.includes(', 1 pod;')")
        box = tab.evaluate(BOX)
        # One node, in the middle below its title.
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.75
        tab.click(x, y)
        tab.wait_for("location.hash.includes('node=n0')")
        tab.evaluate(FRAME)
        assert len(colours(tab)) >= 3
        tab.point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert "default/alone requests 2" in tab.text("#tip")
        tab.point(2, 2)
        assert tab.evaluate("document.getElementById('tip').hidden")


@pytest.mark.parametrize("has_focus", [False, True])
def test_wheel_scrolls_the_page_and_zooms_only_with_ctrl(tab: Tab, has_focus: bool) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console)
        tab.wait_for(HAS_PODS)
        tab.resize(1280, 500)
        tab.evaluate(FRAME)
        if has_focus:
            tab.evaluate("document.getElementById('map').focus()")
        picture = "document.getElementById('map').toDataURL()"
        before = tab.evaluate(picture)
        box = tab.evaluate(BOX)
        tab.wheel(box["x"] + 300, box["y"] + 50, 120)
        tab.wait_for("scrollY > 50")
        assert tab.evaluate(picture) == before
        tab.evaluate("scrollTo(0, 0)")
        tab.wait_for("scrollY === 0")
        tab.wheel(box["x"] + 300, box["y"] + 50, -120, modifiers=2)
        tab.wait_for(f"{picture} !== {before!r}")
        assert tab.evaluate("scrollY") == 0


def test_first_paint_is_told_when_nodes_are_on_the_canvas(tab: Tab) -> None:
    tab.run_first(
        """
        const mark = performance.mark.bind(performance);
        performance.mark = (name) => {
          const canvas = document.getElementById('map');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          (window.drawn ??= {})[name] = new Set(new Uint32Array(data.buffer)).size;
          return mark(name);
        };
        """
    )
    with served(LiveSource(NODES, PODS)) as console:
        tab.open(console.addresses[-1])
        tab.wait_for(IS_CURRENT)
        tab.wait_for("Object.keys(window.drawn).length === 2")
        assert tab.evaluate("window.drawn['berth-nodes-shown'] > 1 && window.drawn['berth-pods-shown'] > 1")


def test_groups_stand_beside_each_other_on_a_wide_map(tab: Tab) -> None:
    nodes = [node(f"n{number}", labels={"topology.kubernetes.io/zone": f"z{number % 3}"}) for number in range(60)]
    with served(LiveSource(nodes)) as console:
        opened(tab, console)
        tab.evaluate(FRAME)
        # Cells reach from the left to the right.
        covered = tab.evaluate(
            """(() => {
                const canvas = document.getElementById('map');
                const { width, height } = canvas;
                const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
                let first = width;
                let last = 0;
                for (let at = 0; at < data.length; at += 4) {
                  if (data[at] === 255 && data[at + 1] === 255) continue;
                  const x = (at / 4) % width;
                  first = Math.min(first, x);
                  last = Math.max(last, x);
                }
                return (last - first) / width;
            })()"""
        )
        assert covered > 0.8


def under_the_pointer(tab: Tab) -> list[str]:
    """What the map says at some of its places."""
    box, found = tab.evaluate(BOX), []
    for across, down in product((0.2, 0.4, 0.6, 0.8), repeat=2):
        tab.point(box["x"] + box["width"] * across, box["y"] + box["height"] * down)
        found.append(
            tab.evaluate("(({ hidden, innerText }) => (hidden ? '' : innerText))(document.getElementById('tip'))")
        )
    return found


def test_address_holds_where_the_map_was_moved_and_links_between_views_keep_it(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console, "#/overview?resource=memory&label=")
        drawn(tab)
        steps, all_groups, box = tab.evaluate("history.length"), under_the_pointer(tab), tab.evaluate(BOX)
        tab.wheel(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3, -300, modifiers=2)
        tab.wait_for("location.hash.includes('at=')")
        zoomed = tab.evaluate("location.hash")
        tab.evaluate("document.getElementById('map').focus()")
        tab.press("ArrowRight")
        tab.wait_for(f"location.hash !== {zoomed!r}")
        address, moved = tab.evaluate("location.hash"), under_the_pointer(tab)
        assert moved != all_groups
        assert tab.evaluate("history.length") == steps
        reloaded(tab)
        assert (tab.evaluate("location.hash"), under_the_pointer(tab)) == (address, moved)
        tab.evaluate("document.querySelector('#views [data-view=pending]').click()")
        tab.wait_for(f"location.hash === {address.replace('overview', 'pending')!r}")
        tab.evaluate(FRAME)
        # Beside the lists the map has another shape; what is in its middle stays there.
        beside_lists = under_the_pointer(tab)
        reloaded(tab)
        assert under_the_pointer(tab) == beside_lists
        tab.evaluate("history.back()")
        tab.wait_for(f"location.hash === {address!r}")
        tab.evaluate(FRAME)
        assert under_the_pointer(tab) == moved
        tab.evaluate("document.getElementById('zoom-all').click()")
        tab.wait_for("!location.hash.includes('at=')")
        tab.evaluate(FRAME)
        assert under_the_pointer(tab) == all_groups


def test_map_comes_back_at_its_place_from_a_view_without_one(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        # What is in the middle is beyond the upper left corner of the first group.
        opened(tab, console, "#/overview?at=-1,0,40")
        drawn(tab)
        before = under_the_pointer(tab)
        assert len(set(before)) > 2
        for view in ("health", "overview"):
            tab.evaluate(f"document.querySelector('#views [data-view={view}]').click()")
            tab.wait_for(f"location.hash.startsWith('#/{view}?at=')")
            tab.evaluate(FRAME)
        assert under_the_pointer(tab) == before


def test_place_that_is_none_shows_all_groups(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console, "#/overview")
        drawn(tab)
        all_groups = under_the_pointer(tab)
        tab.open(f"{console.origin}/#/overview?at=1e9,NaN,-3&filter=zone")
        tab.wait_for("document.getElementById('caption').innerText.includes('zone')")
        tab.evaluate(FRAME)
        assert under_the_pointer(tab) == all_groups


def test_all_of_the_map_is_shown_beside_a_group_that_is_chosen(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        opened(tab, console)
        drawn(tab)
        all_groups = under_the_pointer(tab)
        tab.open(f"{console.origin}/#/overview?group=zone-0")
        tab.wait_for("document.getElementById('crumbs').innerText.includes('zone-0')")
        tab.evaluate(FRAME)
        assert under_the_pointer(tab) != all_groups
        tab.evaluate("document.getElementById('zoom-all').click()")
        tab.wait_for("location.hash === '#/overview?group=zone-0&at=all'")
        reloaded(tab)
        assert under_the_pointer(tab) == all_groups
        # Another group is where it is opened.
        tab.evaluate("document.querySelector('#crumbs button').click()")
        tab.wait_for("location.hash === '#/overview'")
