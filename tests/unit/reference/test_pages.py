"""The generated pages of docs/reference: as the code has them, and complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from berth_cli.config import schema
from berth_cli.main import COMMANDS
from tests.conftest import PROJECT
from tests.deployment.template import read_template
from tools.reference import pages
from tools.reference.template_parameters import ParameterUngrouped, template_parameters


def headings(name: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", (pages.FOLDER / name).read_text(), re.MULTILINE))


def test_generated_pages_are_up_to_date() -> None:
    assert pages.stale() == [], "make reference"


def test_reports_a_page_whose_file_differs_or_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    monkeypatch.setattr(
        pages, "GENERATED", {"same.md": lambda: "a", "other.md": lambda: "b", "missing.md": lambda: "c"}
    )
    (tmp_path / "same.md").write_text("a")
    (tmp_path / "other.md").write_text("a")
    assert pages.stale() == ["other.md", "missing.md"]


def test_command_line_page_has_every_command() -> None:
    assert {f"berth {name}" for name in COMMANDS} <= headings("cli.md")


def test_template_page_has_every_parameter() -> None:
    assert set(read_template()["Parameters"]) <= headings("template-parameters.md")


def test_rejects_a_template_with_a_parameter_in_no_group(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text((PROJECT / "template.yaml").read_text().replace("Parameters: [LogLevel, ", "Parameters: ["))
    with pytest.raises(ParameterUngrouped, match="LogLevel"):
        template_parameters(template)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param(lambda texts: texts["Exemption"].pop("namespaces"), "namespaces", id="a field without a text"),
        pytest.param(lambda texts: texts["Exemption"].update(gone="…"), "gone", id="a text without a field"),
    ],
)
def test_rejects_descriptions_that_differ_from_the_models(
    change: object, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = yaml.safe_load(schema.DESCRIPTIONS.read_text())
    assert callable(change)
    change(texts)
    (tmp_path / "texts.yaml").write_text(yaml.safe_dump(texts))
    monkeypatch.setattr(schema, "DESCRIPTIONS", tmp_path / "texts.yaml")
    with pytest.raises(schema.FieldsUndocumented, match=field):
        schema.schema_document()
