"""`python -m tools.docs.demo_picture FILE.svg [--check]`: runs `berth demo` and draws, or checks, what it prints.

The same run gives the same picture: the line that says how long it took is left out. Fonts are the reader's own.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 96
SCENES = (0, 1, 4)
"""Two pods by label, and GPU nodes before and after: the whole demo does not fit on a page."""

FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, ", "")


def demo() -> str:
    """What `berth demo` prints on a terminal, with its colours."""
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    command = [str(Path(sys.executable).with_name("berth")), "demo"]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def scenes(output: str, numbers: Sequence[int]) -> Text:
    """The scenes of these numbers. A scene begins with an empty line."""
    found = [each.strip("\n") for each in output.split("\n\n")]
    return Text.from_ansi("\n\n".join(found[number] for number in numbers))


def picture(text: Text) -> str:
    """A terminal's window with this text in it, as SVG."""
    console = Console(file=io.StringIO(), record=True, width=COLUMNS, force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ berth demo\n\n", "bold"), text))
    svg = console.export_svg(title="berth demo", theme=MONOKAI, code_format=FORMAT, unique_id="berth-demo")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Fail when the picture is out of date, and write nothing.")
def main(file: Path, check: bool) -> None:
    """Draw FILE, an SVG, from a run of `berth demo`."""
    drawn = picture(scenes(demo(), SCENES))
    if not check:
        file.write_text(drawn, encoding="utf-8")
    elif file.read_text(encoding="utf-8") != drawn:
        raise click.ClickException(f"{file} is out of date; run: make reference")


if __name__ == "__main__":
    main()
