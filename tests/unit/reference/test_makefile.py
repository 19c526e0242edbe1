"""A target takes its values from make's command line alone."""

from __future__ import annotations

import os
import re
import subprocess

from tests.conftest import PROJECT

MAKEFILE = (PROJECT / "Makefile").read_text()
FROM_THE_ENVIRONMENT = {"CURDIR", "KUBERNETES", "MAKEFILE_LIST", "PYTHON"}


def test_no_target_takes_a_value_from_the_shell() -> None:
    """An exported KUBECONFIG may be that of a cluster in production."""
    set_here = set(re.findall(r"^([A-Z_]+) *:?=", MAKEFILE, re.M))
    names = set(re.findall(r"\$\(([A-Z_]+)", MAKEFILE)) - set_here - FROM_THE_ENVIRONMENT
    targets = re.findall(r"^([a-z][a-z0-9-]*):", MAKEFILE, re.M)
    done = subprocess.run(
        ["make", "--dry-run", "--keep-going", *targets, "STACK=trial"],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], **dict.fromkeys(names, "from-the-shell")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "-m tools.acceptance --stack trial" in done.stdout
    assert [line for line in done.stdout.splitlines() if "from-the-shell" in line] == []
