"""The documents as a reader sees them: their pages, their blocks of code, and commands with what they print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import PROJECT

PAGES = sorted([*PROJECT.glob("docs/**/*.md"), *PROJECT.glob("*.md"), *PROJECT.glob("examples/**/*.md")])
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block in one line, and the lines that the page shows under it."""

    line: str
    output: tuple[str, ...] = ()


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Yield the page's blocks in these languages, or all but drawings, without their indentation."""
    for indentation, language, text in _BLOCK.findall(page.read_text()):
        if language in languages or (not languages and language != "mermaid"):
            yield re.sub(rf"^{indentation}", "", text, flags=re.MULTILINE)


def commands(page: Path) -> Iterator[Command]:
    """Yield the commands that a reader of the page can copy, in its order."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", re.sub(r"\\\n *", "", block), flags=re.MULTILINE)[1:]:
            line, *output = part.splitlines()
            yield Command(line, tuple(output))


def matches(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Whether the page shows what was printed. "…" stands for the rest of a line; as a line of its own, for lines."""
    at, skips = 0, False
    for line in shown:
        if line == "…":
            skips = True
            continue
        while skips and at < len(printed) and not _is_shown(line, printed[at]):
            at += 1
        if at == len(printed) or not _is_shown(line, printed[at]):
            return False
        at, skips = at + 1, False
    return skips or at == len(printed)


def _is_shown(line: str, printed: str) -> bool:
    return printed.startswith(line[:-1]) if line.endswith("…") else line == printed
