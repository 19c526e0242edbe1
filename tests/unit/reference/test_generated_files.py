"""The files under docs/ that are generated from the code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth_cli.configuration import schema
from berth_cli.installation.doctor.checks.cluster import TESTED
from tests.deployment.template import read_template
from tests.scheduler_facts.facts import MEASURED, Facts
from tools.reference.__main__ import GENERATED, outdated
from tools.reference.template_parameters import ParameterUngrouped, template_parameters


def test_generated_files_are_up_to_date(tmp_path: Path) -> None:
    without_demo = {name: generate for name, generate in GENERATED.items() if not name.endswith(".svg")}
    assert list(outdated(without_demo)) == [], "make reference"
    (tmp_path / "same.md").write_text("a")
    (tmp_path / "other.md").write_text("a")
    written = {"same.md": lambda: "a", "other.md": lambda: "b", "missing.md": lambda: "c"}
    assert outdated(written, tmp_path) == {"other.md": "b", "missing.md": "c"}


def test_every_version_that_doctor_knows_was_measured() -> None:
    kept = {path.stem: Facts.read(path).kubernetes for path in MEASURED.glob("*.json")}
    assert sorted(kept) == list(TESTED)
    assert all(release.startswith(f"v{minor}.") for minor, release in kept.items())


def test_rejects_a_template_with_a_parameter_in_no_group() -> None:
    template = read_template()
    template["Parameters"]["Another"] = template["Parameters"]["LogRetentionDays"]
    with pytest.raises(ParameterUngrouped, match="Another"):
        template_parameters(template)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param(lambda texts: texts["Exemption"].pop("namespaces"), "namespaces", id="a field without a text"),
        pytest.param(lambda texts: texts["Exemption"].update(gone="…"), "gone", id="a text without a field"),
    ],
)
def test_rejects_descriptions_that_differ_from_the_models(
    change: Callable[[Any], object], field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = yaml.safe_load(schema.DESCRIPTIONS.read_text())
    change(texts)
    (tmp_path / "texts.yaml").write_text(yaml.safe_dump(texts))
    monkeypatch.setattr(schema, "DESCRIPTIONS", tmp_path / "texts.yaml")
    with pytest.raises(schema.FieldsUndocumented, match=field):
        schema.schema_document()
