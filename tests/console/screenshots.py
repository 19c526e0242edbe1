"""`make console-screenshots`: the pictures of docs/how-to/console.md, from a cluster that is the same each time."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import click

from berth.configuration.store import Configured
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod
from tests.console.chromium import Browser, Tab, find_browser
from tests.console.served import LiveSource, Served, served
from tests.console.test_overview import IS_CURRENT
from tests.unit.cli.console.cases import node, pod

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
WIDTHS = {"wide": (1280, 900), "narrow": (390, 844)}
SCHEMES = ("light", "dark")
VIEWS = {
    "overview": "document.getElementById('summary').innerText.includes('pods; cpu')",
    "pending": "document.querySelectorAll('#reasons button').length > 2",
}
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
POOLS = ("general", "compute", "memory", "gpu")
PODS_OF_A_NODE = 8
FULL = Configured.of(BerthConfiguration.model_validate({"profile": "full"}))
# Two frames: one draws, and the next one is after it.
DRAWN = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))"


def cluster() -> tuple[list[NodeInfo], list[Pod]]:
    """240 nodes whose use differs by pool, and pods that fit nowhere."""
    nodes, pods = [], list(waiting())
    drawn = Random(20)
    for number in range(240):
        zone, pool = ZONES[number % 3], POOLS[number // 3 % 4]
        labels = {"topology.kubernetes.io/zone": zone, "pool": pool}
        taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}] if pool == "gpu" else []
        name = f"{pool}-{number}"
        found = node(name, labels=labels, taints=taints, allocatable={"cpu": "16", "memory": "64Gi", "pods": "110"})
        nodes.append(found)
        share = {"general": 0.6, "compute": 0.9, "memory": 0.4, "gpu": 0.2}[pool] * drawn.uniform(0.5, 1.1)
        for at in range(PODS_OF_A_NODE):
            milli = round(16_000 * min(1.0, share) / PODS_OF_A_NODE * drawn.uniform(0.6, 1.3))
            pods.append(pod(f"{pool}-app-{number}-{at}", name, requests={"cpu": f"{milli}m", "memory": "2Gi"}))
    return nodes, pods


def waiting() -> Iterator[Pod]:
    """Pending pods of several reasons."""
    for number in range(6):
        yield pod(f"train-{number}", requests={"cpu": "15500m"})
    for number in range(3):
        yield pod(f"report-{number}", requests={"memory": "96Gi"})
    yield pod("archive-0", nodeSelector={"disk": "nvme"})
    yield pod("web-0", requests={"cpu": "250m"})
    yield pod("batch-0", schedulingGates=[{"name": "quota"}])


def take(tab: Tab, console: Served, view: str, path: Path) -> None:
    """One picture of what fits on the screen."""
    tab.open(f"{console.origin}/#/{view}")
    tab.wait_for(VIEWS[view], seconds=60)
    tab.evaluate(DRAWN)
    path.write_bytes(base64.b64decode(tab.call("Page.captureScreenshot", format="png")["data"]))
    click.echo(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


@click.command()
@click.option("--browser", default="", help="Command of a Chromium.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=FOLDER, show_default=True)
def main(browser: str, folder: Path) -> None:
    """Write each view in two widths, light and dark."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Browser(find_browser(browser), Path(directory)) as chromium,
        served(LiveSource(*cluster(), FULL)) as console,
    ):
        for scheme in SCHEMES:
            for name, (width, height) in WIDTHS.items():
                with chromium.tab(width, height, scheme) as tab:
                    tab.open(console.addresses[-1])
                    tab.wait_for(IS_CURRENT, seconds=60)
                    for view in VIEWS:
                        take(tab, console, view, folder / f"console-{view}-{name}-{scheme}.png")


if __name__ == "__main__":
    main()
