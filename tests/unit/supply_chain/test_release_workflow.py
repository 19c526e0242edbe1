"""What the workflow `release` puts into dist before it is published."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.deployment.sam import PROJECT

WORKFLOW = PROJECT / ".github" / "workflows" / "release.yml"


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    """Of the job that builds."""
    found: list[dict[str, Any]] = yaml.safe_load(WORKFLOW.read_text())["jobs"]["build"]["steps"]
    return found


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("wheel", id="the command, and its source"),
        pytest.param("sbom", id="bills of materials"),
        pytest.param("chart", id="the Helm chart"),
    ],
)
def test_release_has(target: str, steps: list[dict[str, Any]]) -> None:
    names = [step.get("run") or step["uses"].partition("@")[0] for step in steps]
    assert f"make {target}" in names[: names.index("actions/upload-artifact")]


def test_release_builds_nothing_before_tag_and_version_agree_and_no_vulnerability_is_known(
    steps: list[dict[str, Any]],
) -> None:
    runs = [step["run"] for step in steps if "run" in step]
    assert runs[:2] == ["make release-version", "make audit"]


def test_release_has_the_tools_that_its_targets_need(steps: list[dict[str, Any]]) -> None:
    """make chart builds helm."""
    [go] = [step for step in steps if step.get("uses", "").startswith("actions/setup-go")]
    assert go["with"]["go-version"] == "1.26"
