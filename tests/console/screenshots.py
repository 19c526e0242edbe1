"""The pictures of docs/how-to/console.md, the same each time: `python -m tests.console.screenshots`."""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from tests.console.chromium import Browser, Tab, find_browser
from tests.console.pictured import shown
from tests.console.served import Served, served_as
from tests.console.test_overview import IS_CURRENT

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZE = (1280, 900)
SCHEMES = ("light", "dark")
# Waits for two frames: when the second begins, the first is drawn.
DRAWN = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))"


@dataclass(frozen=True)
class Picture:
    """Describes a picture. act: JavaScript for the user's actions. until: the condition to wait for after them."""

    until: str
    act: str = "0"


PICTURES = {
    "overview": Picture("document.getElementById('summary').innerText.includes('pods; cpu')"),
    "pending": Picture(
        "document.querySelectorAll('#reasons button').length > 2"
        " && document.getElementById('gangs-list').innerText.includes('render')"
    ),
    "decisions": Picture(
        "document.querySelectorAll('#decision table tr').length > 5",
        act="document.querySelector('#decisions-grid [role=gridcell]').click()",
    ),
}


def take(tab: Tab, console: Served, name: str, path: Path) -> None:
    """Take a picture of the visible part of the page."""
    picture = PICTURES[name]
    tab.open(f"{console.origin}/#/{name}")
    tab.wait_for(f"({picture.act}, true)")
    tab.wait_for(picture.until, seconds=60)
    tab.evaluate("document.activeElement.blur()")
    tab.evaluate(DRAWN)
    path.write_bytes(base64.b64decode(tab.call("Page.captureScreenshot", format="png")["data"]))
    click.echo(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


@click.command()
@click.option("--browser", default="", help="Command of a Chromium.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=FOLDER, show_default=True)
@click.option("--only", type=click.Choice(list(PICTURES)), multiple=True, help="These views; default: all.")
def main(browser: str, folder: Path, only: tuple[str, ...]) -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        Browser(find_browser(browser), Path(directory)) as chromium,
        served_as(shown()) as console,
    ):
        for scheme in SCHEMES:
            with chromium.tab(*SIZE, scheme) as tab:
                tab.open(console.addresses[-1])
                tab.wait_for(IS_CURRENT, seconds=60)
                for name in only or PICTURES:
                    take(tab, console, name, folder / f"console-{name}-{scheme}.png")


if __name__ == "__main__":
    main()
