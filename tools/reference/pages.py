"""Which pages are generated, and which of them are out of date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tools.cost.page import cost
from tools.reference.command_line import command_line
from tools.reference.configuration import configuration
from tools.reference.template_parameters import template_parameters

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "docs" / "reference"

GENERATED: Mapping[str, Callable[[], str]] = {
    "cli.md": command_line,
    "configuration.md": configuration,
    "cost.md": lambda: cost(PROJECT / "template.yaml"),
    "template-parameters.md": lambda: template_parameters(PROJECT / "template.yaml"),
}


def pages() -> dict[str, str]:
    """Each page's text by the name of its file in FOLDER."""
    return {name: generate() for name, generate in GENERATED.items()}


def stale() -> list[str]:
    """The pages whose file is missing or differs from what would be written."""
    files = {name: FOLDER / name for name in GENERATED}
    texts = pages()
    return [
        name for name, file in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != texts[name]
    ]
