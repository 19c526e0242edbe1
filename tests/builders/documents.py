"""The documents as a reader sees them: their pages, their blocks of code, and the commands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import PROJECT

PAGES = sorted([*PROJECT.glob("docs/**/*.md"), *PROJECT.glob("*.md"), *PROJECT.glob("examples/**/*.md")])
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Yield the page's blocks in these languages, or all but drawings, without their indentation."""
    for indentation, language, text in _BLOCK.findall(page.read_text()):
        if language in languages or (not languages and language != "mermaid"):
            yield re.sub(rf"^{indentation}", "", text, flags=re.MULTILINE)


def commands(page: Path) -> Iterator[str]:
    """Yield the commands that a reader of the page can copy, in the page's order, each in one line."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", re.sub(r"\\\n *", "", block), flags=re.MULTILINE)[1:]:
            yield part.partition("\n")[0]
