"""The version of the user's plugins: it changes with every file that Python may load."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from berth.configuration.store import installed_version, version_of
from tests.builders.sidecar import mount


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "berth_plugins"
    (folder / "rules").mkdir(parents=True)
    (folder / "__init__.py").write_text('"""Ours."""\n\n__version__ = "1.2.0"\n')
    (folder / "rules" / "teams.py").write_text("A = 1\n")
    (tmp_path / "requirements.txt").write_text("numpy==2.4.0\n")
    return tmp_path


def test_version_contains_declared_version_and_hash(plugins: Path) -> None:
    assert re.fullmatch(r"1\.2\.0\+[0-9a-f]{8}", version_of(plugins))
    assert version_of(plugins) == version_of(plugins)


def test_version_starts_with_0_if_none_is_declared(plugins: Path) -> None:
    (plugins / "berth_plugins" / "__init__.py").unlink()
    assert version_of(plugins).startswith("0+")


def test_version_is_the_same_if_kubelet_mounts_the_files(tmp_path: Path) -> None:
    files = {"__init__.py": '__version__ = "1.2.0"\n', "teams.py": "A = 1\n"}
    plain, mounted = tmp_path / "plain" / "berth_plugins", tmp_path / "mounted" / "berth_plugins"
    plain.mkdir(parents=True)
    for name, text in files.items():
        (plain / name).write_text(text)
    mount(files, mounted)
    assert version_of(mounted.parent) == version_of(plain.parent)


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        pytest.param(lambda root: (root / "berth_plugins/rules/teams.py").write_text("A = 2\n"), True, id="a module"),
        pytest.param(lambda root: (root / "berth_plugins/rules/more.py").touch(), True, id="a new module"),
        pytest.param(
            lambda root: (root / "berth_plugins/rules/teams.py").rename(root / "berth_plugins/teams.py"),
            True,
            id="a module in another place",
        ),
        pytest.param(lambda root: (root / "requirements.txt").write_text("numpy==2.5.0\n"), True, id="a dependency"),
        pytest.param(lambda root: (root / "berth_plugins/rules/teams.pyc").touch(), False, id="bytecode"),
        pytest.param(lambda root: (root / "berth_plugins/.mypy_cache").touch(), False, id="a hidden file"),
        pytest.param(lambda root: (root / "conftest.py").touch(), False, id="a file beside the package"),
    ],
)
def test_version_changes_with_the_loaded_files_only(
    plugins: Path, change: Callable[[Path], object], changes: bool
) -> None:
    before = version_of(plugins)
    change(plugins)
    assert (version_of(plugins) != before) is changes


def test_version_is_empty_without_plugins() -> None:
    installed_version.cache_clear()
    assert installed_version() == ""
