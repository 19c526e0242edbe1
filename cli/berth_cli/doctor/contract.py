"""The facts of the extender contract by number, as the documentation has them."""

from __future__ import annotations

import re

from berth_cli.project_files import PROJECT

PAGE = "docs/reference/extender-contract.md"

_FACT = re.compile(r'<a id="fact-(\d+a?)"></a>\n(.*?)(?=\n\n)', re.DOTALL)
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def facts() -> dict[str, str]:
    """The text of each fact, without links."""
    page = (PROJECT / PAGE).read_text(encoding="utf-8")
    return {number: _LINK.sub(r"\1", content) for number, content in _FACT.findall(page)}
