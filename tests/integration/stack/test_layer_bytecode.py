"""Byte-code of the layers: a build that cannot compile it fails, unless the user turns it off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LAYER_MK = Path(__file__).parents[3] / "layers" / "layer.mk"
MAKEFILE = f"""\
include {LAYER_MK}
build:
\tmkdir -p "$(PACKAGES)" && touch "$(PACKAGES)/module.py"
\t$(compile_bytecode)
"""
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(
    ("variables", "error", "compiled"),
    [
        pytest.param({"BERTH_PYTHON_VERSION": "3.99"}, "put it on PATH", 0, id="the interpreter is absent"),
        pytest.param({"BERTH_PYTHON_VERSION": "3.99", "BERTH_BYTECODE_PYTHON": ""}, "", 0, id="without byte-code"),
        pytest.param(
            {"BERTH_PYTHON_VERSION": "3.99", "BERTH_BYTECODE_PYTHON": sys.executable},
            f"BERTH_BYTECODE_PYTHON is Python {OWN}, not 3.99",
            0,
            id="another version",
        ),
        pytest.param(
            {"BERTH_PYTHON_VERSION": OWN, "BERTH_BYTECODE_PYTHON": sys.executable}, "", 1, id="the runtime's version"
        ),
    ],
)
def test_build_without_bytecode_fails_unless_the_variables_allow_it(
    tmp_path: Path, variables: dict[str, str], error: str, compiled: int
) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BERTH_")}
    done = subprocess.run(
        ["make", "--silent", "build"],
        cwd=tmp_path,
        env=inherited | variables | {"ARTIFACTS_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is (not error), done.stderr
    assert error in done.stderr
    assert len(list(tmp_path.rglob("*.pyc"))) == compiled
