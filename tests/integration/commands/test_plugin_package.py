"""`berth plugin package` with a dependency from the package index, for both architectures of a stack."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conftest import PROJECT

pytestmark = pytest.mark.build

COMPILED = "markupsafe"
"""A small package with a compiled module that Berth's own layers do not contain."""

MACHINES = {"arm64": 0xB7, "x86_64": 0x3E}
"""Maps an architecture to `e_machine` in the header of an ELF file."""

BERTH = "from berth_cli.main import main; main(prog_name='berth')"


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """Return the directory of a package that needs the dependency, locked as in the environment of the tests."""
    package = tmp_path / "plugins" / "berth_plugins"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f'import {COMPILED}\n__version__ = "1.0.0"\n')
    locked = (PROJECT / "requirements" / "dev.txt").read_text()
    found = re.search(rf"^{COMPILED}==(?:.*\\\n)+.*\n", locked, re.MULTILINE)
    assert found is not None
    (package.parent / "requirements.txt").write_text(found[0])
    return package.parent


def package(plugins: Path, architecture: str) -> ZipFile:
    file = plugins.parent / f"{architecture}.zip"
    words = ["plugin", "package", str(plugins), f"--file={file}", f"--architecture={architecture}", "--python=3.13"]
    done = subprocess.run([sys.executable, "-c", BERTH, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ", 1 dependency, " in done.stdout
    return ZipFile(file)


@pytest.mark.parametrize("architecture", MACHINES)
def test_layer_has_the_dependency_for_the_stacks_architecture(plugins: Path, architecture: str) -> None:
    """The index has the dependency for both architectures, and neither has to match this machine."""
    assert machines(package(plugins, architecture)) == {MACHINES[architecture]}


def machines(layer: ZipFile) -> set[int]:
    """Return `e_machine` of the layer's compiled modules for CPython 3.13."""
    modules = [name for name in layer.namelist() if name.startswith(f"python/{COMPILED}/_speedups.cpython-313-")]
    return {int.from_bytes(layer.read(name)[18:20], "little") for name in modules}
