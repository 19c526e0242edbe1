"""The page with a large cluster: bytes, first paint, and times of frames while it moves.

Beside each figure stands what it is made of, which says what limits it: waiting for the server, the browser's work on
the data, and in a frame the page's script, layout, and the rest, which is the browser's drawing. Frames are measured on
a cluster at rest and on one that changes.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import click

from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from tests.console.chromium import Browser, Tab, find_browser
from tests.console.served import LiveSource, served
from tests.unit.cli.console.cases import node, pod

FRAMES = 120
CHANGE_SECONDS = 0.2
PODS_A_CHANGE = 20
MOVE = """
new Promise((resolve) => {
  const canvas = document.getElementById('map');
  const box = canvas.getBoundingClientRect();
  const at = (x) => ({ pointerId: 1, bubbles: true, clientX: box.x + x, clientY: box.y + 100 });
  canvas.setPointerCapture = () => {};
  canvas.dispatchEvent(new PointerEvent('pointerdown', at(200)));
  const times = [];
  let before = performance.now();
  const step = (now) => {
    times.push(now - before);
    before = now;
    canvas.dispatchEvent(new PointerEvent('pointermove', at(200 + 100 * Math.sin(times.length / 10))));
    if (times.length < FRAMES) requestAnimationFrame(step);
    else {
      canvas.dispatchEvent(new PointerEvent('pointerup', at(200)));
      resolve(times.slice(2).sort((a, b) => a - b));
    }
  };
  requestAnimationFrame(step);
})
""".replace("FRAMES", str(FRAMES))

SHOWN = "performance.getEntriesByName('berth-PART-shown')[0].startTime"
SIZES = """
performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/'))
  .map(({ name, encodedBodySize }) => [name.split('/api/')[1], encodedBodySize])
"""
RECEIVED = """
Object.fromEntries(performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/'))
  .map(({ name, responseStart, responseEnd }) => [name.split('/api/')[1], [responseStart, responseEnd]]))
"""
PARTS = {"script": "ScriptDuration", "layout and style": "LayoutDuration", "all tasks": "TaskDuration"}


def large_cluster(nodes: int, pods: int) -> tuple[list[NodeInfo], list[Pod]]:
    """Nodes of 12 zones, 40 pools and 8 types with the labels of a managed cluster; pods of a controller for each 50,
    with requests of their own."""
    types = [f"m{number}g.4xlarge" for number in range(5, 13)]
    return [
        node(
            f"ip-10-{number // 250}-{number % 250}-7.eu-west-1.compute.internal",
            labels={
                "topology.kubernetes.io/zone": f"eu-west-1{'abcdefghijkl'[number % 12]}",
                "topology.kubernetes.io/region": "eu-west-1",
                "node.kubernetes.io/instance-type": types[number % 8],
                "eks.amazonaws.com/nodegroup": f"pool-{number % 40}",
                "kubernetes.io/arch": "arm64",
                "kubernetes.io/os": "linux",
                "team": f"team-{number % 17}",
            },
            allocatable={"cpu": "16", "memory": "64Gi", "pods": "110"},
        )
        for number in range(nodes)
    ], [one_pod(number, number % nodes) for number in range(pods)]


def one_pod(number: int, at: int) -> Pod:
    """On the node of this number."""
    application = f"application-{number // 50}"
    return pod(
        f"{application}-6d4cf56db6-{number:05x}",
        f"ip-10-{at // 250}-{at % 250}-7.eu-west-1.compute.internal",
        requests={"cpu": f"{50 + number // 50 % 400}m", "memory": f"{64 + number // 50 % 900}Mi"},
    )


@contextmanager
def changing(source: LiveSource, nodes: int) -> Iterator[None]:
    """100 pods a second come, and as many go."""
    stop, numbers = threading.Event(), count(10_000_000)

    def change() -> None:
        gone: list[tuple[str, str]] = []
        while not stop.wait(CHANGE_SECONDS):
            come = [one_pod(number, number % nodes) for number in (next(numbers) for _ in range(PODS_A_CHANGE))]
            source.change(Changes(pods=come, pods_gone=gone))
            gone = [(each.node_name, each.uid) for each in come]

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def work(tab: Tab) -> dict[str, float]:
    """The milliseconds that the page's thread has worked so far, by part."""
    found = {each["name"]: each["value"] * 1000 for each in tab.call("Performance.getMetrics")["metrics"]}
    return {part: found[name] for part, name in PARTS.items()}


def measured_paint(tab: Tab) -> float:
    """Prints what it is made of; milliseconds until nodes were on the screen."""
    shown, all_shown = (tab.evaluate(SHOWN.replace("PART", part)) for part in ("nodes", "pods"))
    click.echo(f"first paint of nodes {shown:.0f} ms after navigation; pods {all_shown:.0f} ms")
    received = tab.evaluate(RECEIVED)
    for part, at in (("nodes", shown), ("pods", all_shown)):
        start, end = received[part]
        click.echo(f"{part}: first byte {start:.0f} ms, last {end:.0f} ms, on the screen {at - end:.0f} ms after it")
    for name, size in tab.evaluate(SIZES):
        if size:
            click.echo(f"/api/{name}: {size / 1e6:.1f} MB")
    return float(shown)


def measured_frames(tab: Tab, title: str) -> float:
    """Prints them; the 95th percentile in milliseconds."""
    before = work(tab)
    times = tab.evaluate(MOVE)
    after = work(tab)
    parts = ", ".join(f"{part} {(after[part] - before[part]) / FRAMES:.1f} ms" for part in PARTS)
    middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
    click.echo(f"frames, {title}: median {middle:.1f} ms, 95th percentile {late:.1f} ms, longest {times[-1]:.1f} ms")
    click.echo(f"work a frame, {title}: {parts}")
    return float(late)


@click.command()
@click.option("--nodes", default=5000)
@click.option("--pods", default=150_000)
@click.option("--browser", default="")
@click.option("--most-paint", type=float, help="Milliseconds; exit with 1 beyond them.")
@click.option("--most-frame", type=float, help="Milliseconds of the 95th percentile; exit with 1 beyond them.")
def main(nodes: int, pods: int, browser: str, most_paint: float | None, most_frame: float | None) -> None:
    """Print what was measured."""
    source = LiveSource(*large_cluster(nodes, pods))
    late = []
    with (
        tempfile.TemporaryDirectory() as directory,
        Browser(find_browser(browser), Path(directory)) as chromium,
        served(source) as console,
        chromium.tab() as tab,
    ):
        while not console.feed.condition.sequence:
            time.sleep(0.1)
        load = os.getloadavg()[0]
        click.echo(
            f"{nodes} nodes, {pods} pods, {chromium.version}, {os.cpu_count()} processors ({platform.machine()}), "
            f"load average {load:.1f}, Python {platform.python_version()}"
        )
        tab.call("Performance.enable")
        tab.open(console.addresses[-1])
        tab.wait_for("performance.getEntriesByName('berth-pods-shown').length > 0", seconds=60)
        paint = measured_paint(tab)
        for title, steps in (("all groups", 0), ("smallest pods", 3), ("single pods", 4)):
            tab.evaluate(f"for (let at = 0; at < {steps}; at += 1) document.getElementById('zoom-in').click()")
            late.append(measured_frames(tab, title))
            with changing(source, nodes):
                late.append(measured_frames(tab, f"{title}, with 200 changes a second"))
    is_over = (most_paint is not None and paint > most_paint) or (most_frame is not None and max(late) > most_frame)
    sys.exit(int(is_over))


if __name__ == "__main__":
    main()
