"""docs/contributing/architecture.md: every path that the page names is in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import PROJECT

PAGE = PROJECT / "docs/contributing/architecture.md"
LAYER = PROJECT / "layers/scheduling/berth"
ROOTS = (
    PROJECT,
    LAYER,
    # Sections of the page name modules without the package that they describe.
    LAYER / "scheduling",
    LAYER / "nodecache",
    LAYER / "authentication",
    LAYER / "cluster",
    LAYER / "scheduling/preemption",
    LAYER / "reservations/reconciler",
    LAYER / "runtime/http",
    PROJECT / "cli",
    PROJECT / "tests/chaos",
)


def folder_list(text: str) -> list[str]:
    """The paths in the page's tree of folders, from the indentation."""
    tree = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert tree is not None
    return [path for path in _tree_paths(tree[1].splitlines()) if "<" not in path]


def _tree_paths(lines: list[str]) -> Iterator[str]:
    parents: list[tuple[int, str]] = []
    for line in lines:
        found = re.match(r"( *)((?:[\w.<>/]+/|[\w.<>/]+\.\w+)(?:, (?:[\w/]+/))*)(?:  |$)", line)
        if found is None:
            continue
        depth = len(found[1])
        parents = [each for each in parents if each[0] < depth]
        above = "".join(name for _, name in parents)
        names = found[2].split(", ")
        yield from (above + name for name in names)
        if names[0].endswith("/"):
            parents.append((depth, names[0]))


def named_paths(text: str) -> list[str]:
    """Everything in backticks that has a slash at its end or inside, or the suffix of a file."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return sorted(set(re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|md|yaml|tla|toml))`", prose)))


def test_every_path_of_the_page_exists() -> None:
    text = PAGE.read_text()
    listed, named = folder_list(text), named_paths(text)
    assert len(listed) > 20
    assert len(named) > 20
    assert [path for path in listed if not (PROJECT / path).exists()] == []
    assert [path for path in named if not any((root / path).exists() for root in ROOTS)] == []
    packages = {each.parent.relative_to(PROJECT) for each in LAYER.glob("*/__init__.py")}
    assert packages <= set(map(Path, listed))
