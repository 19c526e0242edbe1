"""`python -m tools.supply_chain.sbom DIRECTORY`: of what runs, in CycloneDX: one for each layer, one for the command.

What is locked is installed as it is in Lambda (or here, for the command), and described by its own metadata: licences,
and what needs what. The same locks make the same bytes. What the runtime of Lambda brings, boto3 above all, is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from berth import __version__

PROJECT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
CYCLONEDX = PROJECT / ".tools" / "supply_chain" / "bin" / "cyclonedx-py"

# The template's defaults for Architecture and PythonRuntime.
LAMBDA = ("--python-platform", "aarch64-manylinux2014", "--python-version", "3.13")


@dataclass(frozen=True)
class Part:
    """`locked`: its requirements; `asked_for`: those of them that it imports itself; `platform`: options for uv."""

    name: str
    locked: Path
    asked_for: Sequence[str]
    platform: Sequence[str] = ()


class DocumentIncomplete(Exception):
    """What is installed is not what the document has."""


def parts() -> list[Part]:
    """All that is delivered."""
    layers = [
        Part(f"berth-{folder.name}-layer", folder / "requirements.txt", _lines(folder / "requirements.in"), LAMBDA)
        for folder in sorted((PROJECT / "layers").iterdir())
        if (folder / "requirements.in").exists()
    ]
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return [*layers, Part(project["name"], PROJECT / "requirements" / "cli.txt", project["dependencies"])]


def describe(part: Part, document: Path) -> int:
    """Write a part's document; how many packages it has."""
    with tempfile.TemporaryDirectory(prefix="berth-sbom-") as folder:
        environment, described = Path(folder) / "environment", Path(folder) / "pyproject.toml"
        _run(UV, "venv", "--quiet", "--python", sys.executable, environment)
        (packages,) = environment.glob("lib/python*/site-packages")
        options = ("--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", *part.platform)
        _run(UV, "pip", "install", *options, "--target", packages, "--requirement", part.locked)
        described.write_text(
            "[project]\n"
            f'name = "{part.name}"\nversion = "{__version__}"\nlicense = "Apache-2.0"\n'
            f"dependencies = {json.dumps(list(part.asked_for))}\n"
        )
        _run(
            *(CYCLONEDX, "environment", environment, "--pyproject", described, "--mc-type", "application"),
            # Validation takes ten seconds, to say of a library that it writes what its own tests validate.
            *("--output-reproducible", "--no-validate", "--output-file", document),
        )
        installed = len(list(packages.glob("*.dist-info")))
    described_packages = len(json.loads(document.read_text())["components"])
    if described_packages != installed:
        raise DocumentIncomplete(f"{document} describes {described_packages} of {installed} packages")
    return installed


def _lines(requirements: Path) -> list[str]:
    return [line for line in requirements.read_text().splitlines() if line and not line.startswith("#")]


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, timeout=120)


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("berth-*.cdx.json"):
        old.unlink()
    for part in parts():
        document = directory / f"{part.name}-{__version__}.cdx.json"
        print(f"{document}: {describe(part, document)} packages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
