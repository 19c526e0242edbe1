"""Loading a BerthConfiguration from --config or --profile; errors name file and field."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.document import load_configuration


def test_uses_the_default_configuration_without_options() -> None:
    assert load_configuration(None, None).profile == "label-priority"
    assert load_configuration(None, "label-priority").profile == "label-priority"


def test_reads_a_valid_document_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "berth.yaml"
    path.write_text("kind: BerthConfiguration\nexempt: {namespaces: [infra]}\n")
    assert load_configuration(path, None).exempt.namespaces == {"infra"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: Deployment", "kind: Input should be 'BerthConfiguration'", id="another kind"),
        pytest.param("yes: full", "Keys should be strings", id="a key that YAML takes for yes or no"),
        pytest.param(
            "exempt:\n  namespaces: []\n  namespaces: [a]",
            ":3: exempt.namespaces: duplicate key: the same key is in line 2",
            id="a nested duplicate key",
        ),
        pytest.param("kind: x\n---\nkind: y", ":3: document: contains 2 YAML documents; give one", id="two documents"),
        pytest.param("", "document: is empty", id="empty"),
        pytest.param("- a", "document: Input should be a mapping", id="a list"),
        pytest.param("a: [", "document: is not YAML: ", id="not YAML"),
        pytest.param("a: !!python/name:os.system", "document: is not YAML: ", id="a tag that would run code"),
        pytest.param("profile: 2026-13-99", "document: is not YAML: ", id="an invalid date"),
        pytest.param("exempt: &a {namespaces: [*a]}", "exempt.namespaces[0]: Input should be", id="a recursive anchor"),
        pytest.param("[" * 1000, "document: is nested too deeply", id="unlimited nesting"),
        pytest.param(b"\xff\xfe\x00", "document: is not YAML: ", id="binary"),
    ],
)
def test_reports_error_with_file_and_field_on_one_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "berth.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(click.ClickException) as caught:
        load_configuration(path, None)
    assert caught.value.message.startswith(str(path))
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        pytest.param("---\nprofile: full\n---\n", {"profile": "full"}, id="with a document end marker"),
        pytest.param("exempt: &a {daemonSets: false}", {"exempt": {"daemonSets": False}}, id="with an anchor"),
        pytest.param('{"kind": "BerthConfiguration", "profile": "full"}', {"profile": "full"}, id="JSON"),
        pytest.param("\ufeffprofile: full", {"profile": "full"}, id="with a byte order mark"),
    ],
)
def test_accepts_every_form_that_yaml_allows(tmp_path: Path, text: str, fields: dict[str, object]) -> None:
    path = tmp_path / "berth.yaml"
    path.write_text(text)
    configuration = load_configuration(path, None)
    assert configuration == BerthConfiguration.model_validate(fields)
    assert configuration != BerthConfiguration()


def test_error_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="No such file or directory"):
        load_configuration(tmp_path / "absent.yaml", None)


def test_unknown_profile_error_lists_known_profiles() -> None:
    with pytest.raises(click.ClickException, match="--profile: profile: Input should be 'label-priority'"):
        load_configuration(None, "x")


def test_rejects_a_profile_option_together_with_a_document(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="exclude each other"):
        load_configuration(tmp_path / "berth.yaml", "label-priority")
