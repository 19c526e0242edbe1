"""The files under docs/ that are generated from the code."""

from __future__ import annotations

from pathlib import Path

from berth_cli.installation.doctor.checks.cluster import TESTED
from tests.scheduler_facts.facts import MEASURED, Facts
from tools.reference.__main__ import GENERATED, outdated


def test_generated_files_are_up_to_date(tmp_path: Path) -> None:
    without_demo = {name: generate for name, generate in GENERATED.items() if not name.endswith(".svg")}
    assert list(outdated(without_demo)) == [], "make reference"
    (tmp_path / "same.md").write_text("a")
    (tmp_path / "other.md").write_text("a")
    written = {"same.md": lambda: "a", "other.md": lambda: "b", "missing.md": lambda: "c"}
    assert outdated(written, tmp_path) == {"other.md": "b", "missing.md": "c"}


def test_every_kubernetes_version_tested_by_doctor_has_measured_facts() -> None:
    kept = {path.stem: Facts.read(path).kubernetes for path in MEASURED.glob("*.json")}
    assert sorted(kept) == list(TESTED)
    assert all(release.startswith(f"v{minor}.") for minor, release in kept.items())
