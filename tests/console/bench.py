"""`make bench-console`: the page with a large cluster: bytes, first paint, and times of frames while it moves.

Beside each figure stands what it is made of, which says what limits it: waiting for the server, the browser's work on
the data, and in a frame the page's script, layout, and the rest, which is the browser's drawing.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from tests.console.chromium import Browser, Tab, find_browser
from tests.console.served import LiveSource, served
from tests.unit.cli.console.cases import node, pod

FRAMES = 120
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


def work(tab: Tab) -> dict[str, float]:
    """The milliseconds that the page's thread has worked so far, by part."""
    found = {each["name"]: each["value"] * 1000 for each in tab.call("Performance.getMetrics")["metrics"]}
    return {part: found[name] for part, name in PARTS.items()}


@click.command()
@click.option("--nodes", default=5000)
@click.option("--pods", default=150_000)
@click.option("--browser", default="")
def main(nodes: int, pods: int, browser: str) -> None:
    """Print what was measured; nothing is asserted."""
    zones = [f"zone-{number}" for number in range(12)]
    labels = [
        {"topology.kubernetes.io/zone": zone, "node.kubernetes.io/instance-type": "m7g.4xlarge"} for zone in zones
    ]
    all_nodes = [node(f"node-{number}", labels=labels[number % 12]) for number in range(nodes)]
    all_pods = [pod(f"web-{number}", f"node-{number % nodes}", requests={"cpu": "100m"}) for number in range(pods)]
    with (
        tempfile.TemporaryDirectory() as directory,
        Browser(find_browser(browser), Path(directory)) as chromium,
        served(LiveSource(all_nodes, all_pods)) as console,
        chromium.tab() as tab,
    ):
        while not console.feed.condition.sequence:
            time.sleep(0.1)
        began = time.monotonic()
        tab.call("Performance.enable")
        tab.open(console.addresses[-1])
        tab.wait_for("performance.getEntriesByName('berth-pods-shown').length > 0", seconds=60)
        click.echo(f"all pods after {time.monotonic() - began:.2f} s, {nodes} nodes, {pods} pods")
        shown, all_shown = (tab.evaluate(SHOWN.replace("PART", part)) for part in ("nodes", "pods"))
        click.echo(f"first paint of nodes {shown:.0f} ms after navigation; pods {all_shown:.0f} ms")
        received = tab.evaluate(RECEIVED)
        for part, at in (("nodes", shown), ("pods", all_shown)):
            start, end = received[part]
            click.echo(f"{part}: first byte {start:.0f} ms, last {end:.0f} ms, paint {at - end:.0f} ms after it")
        for name, size in tab.evaluate(SIZES):
            if size:
                click.echo(f"/api/{name}: {size / 1e6:.1f} MB")
        for title, factor in (("all groups", 1.0), ("single pods", 8.0)):
            tab.evaluate(f"for (let at = 0; at < {factor} - 1; at += 1) document.getElementById('zoom-in').click()")
            before = work(tab)
            times = tab.evaluate(MOVE)
            after = work(tab)
            parts = ", ".join(f"{part} {(after[part] - before[part]) / FRAMES:.1f} ms" for part in PARTS)
            middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
            click.echo(
                f"frames, {title}: median {middle:.1f} ms, 95th percentile {late:.1f} ms, longest {times[-1]:.1f} ms"
            )
            click.echo(f"work a frame, {title}: {parts}")


if __name__ == "__main__":
    main()
