"""Generates docs/images/demo.svg: output of `berth demo`. The picture is reproducible and uses the reader's fonts."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 96
SCENES = (0, 1, 4)
"""The scenes in the picture, because the whole demo is too long: two pods by label, and GPU nodes before and after."""

FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, ", "")


def demo_picture() -> str:
    """Run `berth demo` and draw some of its scenes in a terminal window, as SVG."""
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    command = [str(Path(sys.executable).with_name("berth")), "demo"]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    # Empty lines separate scenes. The selected scenes do not contain the line with the duration of the run.
    scenes = [each.strip("\n") for each in output.split("\n\n")]
    text = Text.from_ansi("\n\n".join(scenes[number] for number in SCENES))
    console = Console(file=io.StringIO(), record=True, width=COLUMNS, force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ berth demo\n\n", "bold"), text))
    svg = console.export_svg(title="berth demo", theme=MONOKAI, code_format=FORMAT, unique_id="berth-demo")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
