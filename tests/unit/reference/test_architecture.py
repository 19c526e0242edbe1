"""docs/contributing/architecture.md: every path that the page names is in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def exists(path: str) -> bool:
    return any((root / path).exists() for root in ROOTS)


@pytest.mark.parametrize("path", folder_list(PAGE.read_text()))
def test_every_path_of_the_folder_list_exists(path: str) -> None:
    assert (PROJECT / path).exists()


@pytest.mark.parametrize("path", named_paths(PAGE.read_text()))
def test_every_named_path_exists(path: str) -> None:
    assert exists(path)


def test_folder_list_has_every_package_of_the_layer() -> None:
    listed = {Path(path) for path in folder_list(PAGE.read_text())}
    packages = {each.parent.relative_to(PROJECT) for each in LAYER.glob("*/__init__.py")}
    assert packages <= listed


def test_finds_nested_paths_and_names_in_backticks() -> None:
    page = "```text\na/       one\n    b/, c/   two\n    d.py     three\ne.yaml   four\n```\n`x/y.py`, `z.py`, `word`\n"
    assert folder_list(page) == ["a/", "a/b/", "a/c/", "a/d.py", "e.yaml"]
    assert named_paths(page) == ["x/y.py", "z.py"]
