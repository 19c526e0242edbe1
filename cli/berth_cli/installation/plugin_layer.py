"""Builds a Lambda layer from custom plugins and their locked dependencies."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import click

from berth.configuration.store import REQUIREMENTS, declared_version, package_files, version_of
from berth_cli.terminal.input_files import PROJECT

_EVERY_FUNCTIONS = PROJECT / "layers" / "scheduling" / "requirements.txt"
_SOME_FUNCTIONS = PROJECT / "layers" / "kubernetes" / "requirements.txt"
PLATFORMS: Mapping[str, str] = {"arm64": "manylinux2014_aarch64", "x86_64": "manylinux2014_x86_64"}
MAX_BYTES = 50_000_000
"""The maximum size of a zip file that Lambda accepts in one call."""

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;\\]+)")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


_IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
names = ["berth_plugins"]
for name in names:
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        sys.exit(f"{name} cannot be imported: {type(error).__name__}: {error}")
    names += [f"{name}.{each.name}" for each in pkgutil.iter_modules(getattr(module, "__path__", []))]
"""


class InvalidPackage(click.ClickException):
    """The directory cannot be packaged. The message states the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A built layer. dependencies: the number of packages that were added to the plugins. is_imported: whether the
    modules were imported as a test, which is impossible if the dependencies are for another platform. is_compiled:
    whether the layer has byte-code."""

    file: Path
    version: str
    dependencies: int
    size: int
    is_imported: bool
    is_compiled: bool


def build_layer(directory: Path, file: Path | None, architecture: str, python: str) -> Layer:
    """Write the layer to the file, by default `berth-plugins-VERSION.zip`. Raises InvalidPackage and OSError.
    architecture: the stack's architecture, arm64 or x86_64. python: the stack's Python version, for example 3.13.
    """
    if not declared_version(directory):
        raise InvalidPackage(
            f"{directory}/berth_plugins/__init__.py has no version of up to 20 characters: add a line such as "
            '__version__ = "1.0.0"'
        )
    version = version_of(directory)
    file = file or Path(f"berth-plugins-{version.replace('+', '-')}.zip")
    requirements = directory / REQUIREMENTS
    pins = own_requirements(requirements) if requirements.is_file() else {}
    with TemporaryDirectory() as folder:
        root = Path(folder) / "python"
        root.mkdir()
        if pins:
            _install(pins, root, architecture, python)
        for path in [*package_files(directory), *([requirements] if requirements.is_file() else [])]:
            target = root / path.relative_to(directory)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        machine = os.uname().machine
        own = {"aarch64": "arm64"}.get(machine, machine), "{}.{}".format(*sys.version_info)
        is_imported = not pins or (architecture, python) == own
        if is_imported:
            _check_imports(root)
        is_compiled = _compile(root, python)
        _zip(root.parent, file)
    size = file.stat().st_size
    if size > MAX_BYTES:
        raise InvalidPackage(f"{file} has {size} bytes; Lambda takes {MAX_BYTES} at once: leave dependencies out")
    return Layer(file, version, len(pins), size, is_imported, is_compiled)


def own_requirements(file: Path) -> Mapping[str, str]:
    """Return the locked requirements by name, without packages that all functions include. Raises InvalidPackage."""
    everywhere = {name: version for name, version, _ in _requirements(_EVERY_FUNCTIONS)}
    present = {**{name: version for name, version, _ in _requirements(_SOME_FUNCTIONS)}, **everywhere}
    found: dict[str, str] = {}
    for name, version, text in _requirements(file):
        if present.get(name, version) != version:
            raise InvalidPackage(
                f"{file}: {name} is {version}, but Berth's own layers have {present[name]}, and all layers are one "
                f"folder for Python: lock {name}=={present[name]}"
            )
        if name not in everywhere:
            found[name] = text
    return found


def _requirements(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, version and text of each requirement. Raises InvalidPackage if a requirement is not pinned, or lacks
    a hash."""
    text = file.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        requirement = line.strip()
        if not requirement or requirement.startswith("#"):
            continue
        found = _PIN.match(requirement)
        if found is None or "--hash=sha256:" not in requirement:
            raise InvalidPackage(
                f"{file}: {requirement.split()[0]} is not pinned with a hash; lock it: uv pip compile requirements.in "
                "--generate-hashes --output-file requirements.txt"
            )
        yield re.sub(r"[-_.]+", "-", found[1]).lower(), found[2], requirement


def _check_imports(root: Path) -> None:
    """Import all modules: verbs that cannot import a module fall back to an earlier document. Raises InvalidPackage."""
    done = subprocess.run(  # noqa: S603  # this Python, in a process of its own
        [sys.executable, "-c", _IMPORT_ALL, str(root)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        cause = done.stderr.strip().rpartition("\n")[2]
        raise InvalidPackage(f"{cause}; correct it, or lock what it needs in {REQUIREMENTS}")


def _install(pins: Mapping[str, str], root: Path, architecture: str, python: str) -> None:
    """Install wheels for the platform, as layers/layer.mk does, on any machine and without resolving dependencies."""
    if find_spec("pip") is None:
        raise InvalidPackage(
            f"{REQUIREMENTS} cannot be installed: this environment has no pip; install Berth with pipx, or: uv tool "
            "install --with pip"
        )
    locked = root.parent / "locked.txt"
    locked.write_text("\n".join(pins.values()) + "\n", encoding="utf-8")
    done = subprocess.run(  # noqa: S603  # pip, with the options of Berth's own layers
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"),
            *("--root-user-action=ignore", "--implementation", "cp", "--platform", PLATFORMS[architecture]),
            *("--no-deps", "--require-hashes", "--only-binary=:all:", "--python-version", python),
            *("--target", str(root), "--requirement", str(locked)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    locked.unlink()
    if done.returncode:
        raise InvalidPackage(f"the requirements cannot be installed: {done.stderr.strip()}")
    shutil.rmtree(root / "bin", ignore_errors=True)


def _compile(root: Path, python: str) -> bool:
    """Compile to byte-code. Return whether it succeeded, which needs an installed Python of this version."""
    program = shutil.which(f"python{python}")
    if program is None:
        return False
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/opt/python", str(root)]
    done = subprocess.run([program, "-m", "compileall", *options], check=False, capture_output=True)  # noqa: S603
    return not done.returncode


def _zip(root: Path, file: Path) -> None:
    """Write a reproducible zip file: times and permissions are constants."""
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                entry = ZipInfo(path.relative_to(root).as_posix(), _LONG_AGO)
                entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o100644 << 16
                archive.writestr(entry, path.read_bytes())
