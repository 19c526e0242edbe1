"""Contents of the layers that their makefiles build, also on a machine of another platform."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

LAYERS = Path(__file__).parents[3] / "layers"
MEGABYTE = 1_000_000
# A function and its layers may have 250 MB unpacked. Byte-code takes about as many bytes as the sources.
LIMIT = 120 * MEGABYTE
SCHEDULING_LIMIT = 25 * MEGABYTE
"""The limit in bytes of the layer that every function has, with byte-code."""

pytestmark = pytest.mark.build

DEFAULTS: Mapping[str, str] = {}
X86 = {"BERTH_ARCHITECTURE": "x86_64", "BERTH_PYTHON_VERSION": "3.11"}


def _build(layer: str, logical_id: str, artifacts: Path, variables: Mapping[str, str]) -> Path:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BERTH_")}
    subprocess.run(
        ["make", "--silent", f"build-{logical_id}", f"PYTHON={sys.executable}"],
        cwd=LAYERS / layer,
        env=inherited | {"BERTH_BYTECODE_PYTHON": "", **variables, "ARTIFACTS_DIR": str(artifacts)},
        check=True,
    )
    return artifacts / "python"


@pytest.fixture(scope="module")
def scheduling_layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the packages of the default layer, built once for the tests that only read them."""
    return _build("scheduling", "SchedulingLayer", tmp_path_factory.mktemp("scheduling"), DEFAULTS)


def _assert_platform(platform: str, packages: Path) -> None:
    libraries = {path.name for path in packages.rglob("*.so")}
    assert f"_pydantic_core.{platform}.so" in libraries
    assert {name for name in libraries if platform not in name} == set()


def test_binary_packages_match_arm64_by_default(scheduling_layer: Path) -> None:
    _assert_platform("cpython-313-aarch64-linux-gnu", scheduling_layer)


def test_binary_packages_match_the_platform_given_by_variables(tmp_path: Path) -> None:
    packages = _build("scheduling", "SchedulingLayer", tmp_path, X86)
    _assert_platform("cpython-311-x86_64-linux-gnu", packages)


def test_scheduling_layer_contains_berth_but_not_boto3(scheduling_layer: Path) -> None:
    names = {path.name for path in scheduling_layer.iterdir()}
    assert {"berth", "pydantic", "orjson", "aws_lambda_powertools"} <= names
    assert not names & {"boto3", "botocore", "bin"}


def test_layers_with_bytecode_fit_the_size_limit(scheduling_layer: Path, tmp_path: Path) -> None:
    packages = _build("kubernetes", "KubernetesLayer", tmp_path, DEFAULTS)
    together = {path.relative_to(layer): path for layer in (scheduling_layer, packages) for path in layer.rglob("*")}
    assert {Path("berth"), Path("kubernetes")} <= together.keys()
    assert sum(path.stat().st_size for path in together.values() if path.is_file()) < LIMIT


def test_scheduling_layer_has_bytecode_for_the_right_interpreter_and_stays_small(tmp_path: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    variables = {"BERTH_PYTHON_VERSION": version, "BERTH_BYTECODE_PYTHON": sys.executable}
    packages = _build("scheduling", "SchedulingLayer", tmp_path, variables)
    assert list(packages.glob(f"berth/__pycache__/__init__.{sys.implementation.cache_tag}.pyc"))
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    assert size < SCHEDULING_LIMIT, f"{size / MEGABYTE:.1f} MB"
