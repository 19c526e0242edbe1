"""The version of the user's plugins, as the head has it beside the configuration.

It is made of the files: `1.2.0+3f9a1c2b` has the package's `__version__` and a hash of its files and of the locked
requirements beside it. A layer has the version of the directory that it was built of, and a changed file has another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from berth.scheduling.plugins.custom_plugins.loading import PACKAGE

REQUIREMENTS = "requirements.txt"
_DIGITS = 8
_DECLARED = re.compile(r"""^__version__\s*=\s*["']([0-9A-Za-z.-]{1,20})["']""", re.MULTILINE)


@cache
def installed_version() -> str:
    """Of the package that this process loads; empty if there is none. It stays, as the loaded modules do."""
    spec = find_spec(PACKAGE)
    locations = [] if spec is None else list(spec.submodule_search_locations or ())
    return version_of(Path(locations[0]).parent) if locations else ""


def version_of(directory: Path) -> str:
    """Of the package in this directory."""
    return f"{declared_version(directory) or '0'}+{_digest(directory)}"


def declared_version(directory: Path) -> str:
    """The package's `__version__`; empty without one. Nothing is imported."""
    file = directory / PACKAGE / "__init__.py"
    found = _DECLARED.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return "" if found is None else found[1]


def package_files(directory: Path) -> Iterator[Path]:
    """The package's files in order, without byte-code and hidden files."""
    for path in sorted((directory / PACKAGE).rglob("*")):
        parts = path.relative_to(directory).parts
        if path.is_file() and path.suffix != ".pyc" and not any(part.startswith(".") for part in parts):
            yield path


def _digest(directory: Path) -> str:
    digest = hashlib.sha256()
    requirements = directory / REQUIREMENTS
    for path in [*package_files(directory), *([requirements] if requirements.is_file() else [])]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(directory).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGITS]
