"""`python -m tools.supply_chain.sbom DIRECTORY`: writes bills of materials (CycloneDX) of each layer and of the
command.

The locked packages are installed as in Lambda (or here, for the command), and described by their own metadata: licenses
and dependencies. The same locks produce the same bytes. Packages of the Lambda runtime, such as boto3, are not
included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from berth import __version__
from tools.supply_chain.audit import PROJECT

UV = Path(sys.executable).with_name("uv")
CYCLONEDX = PROJECT / ".tools" / "supply_chain" / "bin" / "cyclonedx-py"

# uv's options for the template's Runtime and its default Architecture.
LAMBDA = ("--python-platform", "aarch64-manylinux2014", "--python-version", "3.13")


@dataclass(frozen=True)
class Part:
    """A part that is delivered. `locked`: its requirements; `asked_for`: the direct dependencies among them;
    `platform`: options for uv."""

    name: str
    locked: Path
    asked_for: Sequence[str]
    platform: Sequence[str] = ()


def parts() -> Iterator[Part]:
    for asked_for in sorted((PROJECT / "layers").glob("*/requirements.in")):
        lines = [line for line in asked_for.read_text().splitlines() if line and not line.startswith("#")]
        yield Part(f"berth-{asked_for.parent.name}-layer", asked_for.with_suffix(".txt"), lines, LAMBDA)
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    yield Part(project["name"], PROJECT / "requirements" / "cli.txt", project["dependencies"])


def describe(part: Part, document: Path) -> int:
    """Write the SBOM of one part and return its number of packages. Raises ValueError if packages are missing."""
    with tempfile.TemporaryDirectory(prefix="berth-sbom-") as folder:
        environment, described = Path(folder) / "environment", Path(folder) / "pyproject.toml"
        _run(UV, "venv", "--quiet", "--python", sys.executable, environment)
        (packages,) = environment.glob("lib/python*/site-packages")
        options = ("--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", *part.platform)
        _run(UV, "pip", "install", *options, "--target", packages, "--requirement", part.locked)
        described.write_text(
            f'[project]\nname = "{part.name}"\nversion = "{__version__}"\nlicense = "Apache-2.0"\n'
            f"dependencies = {json.dumps(list(part.asked_for))}\n"
        )
        # Validation takes ten seconds, and the library's own tests already validate its output.
        output = ("--output-reproducible", "--no-validate", "--output-file", document)
        _run(CYCLONEDX, "environment", environment, "--pyproject", described, "--mc-type", "application", *output)
        installed = len(list(packages.glob("*.dist-info")))
    if (listed := len(json.loads(document.read_text())["components"])) != installed:
        raise ValueError(f"{document} describes {listed} of {installed} packages")
    return installed


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, timeout=120)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("berth-*.cdx.json"):
        old.unlink()
    for each in parts():
        file = directory / f"{each.name}-{__version__}.cdx.json"
        print(f"{file}: {describe(each, file)} packages")
