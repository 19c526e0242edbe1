"""BerthConfiguration from --config or --profile, with errors that name file and field."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from berth_cli.configuration import load_configuration


def test_without_options_the_defaults_hold() -> None:
    assert load_configuration(None, None).profile == "label-priority"
    assert load_configuration(None, "label-priority").profile == "label-priority"


def test_a_document_is_read(tmp_path: Path) -> None:
    path = tmp_path / "berth.yaml"
    path.write_text("kind: BerthConfiguration\nexempt: {namespaces: [infra]}\n")
    assert load_configuration(path, None).exempt.namespaces == {"infra"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("profile: x", "profile: Input should be 'label-priority'", id="a wrong value"),
        pytest.param("exempt: {daemonsets: no}", "exempt.daemonsets: Extra inputs", id="an unknown field"),
        pytest.param("", "document: ", id="empty"),
        pytest.param("- a", "document: ", id="a list"),
        pytest.param("a: [", "is not YAML: ", id="no YAML"),
        pytest.param(b"\xff\xfe\x00", "is not YAML: ", id="binary"),
    ],
)
def test_an_error_is_one_line_that_names_file_and_field(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "berth.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(click.ClickException) as caught:
        load_configuration(path, None)
    assert caught.value.message.startswith(str(path))
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_every_wrong_field_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "berth.yaml"
    path.write_text("profile: x\nkind: Y\n")
    with pytest.raises(click.ClickException) as caught:
        load_configuration(path, None)
    assert [line.split(": ")[1] for line in caught.value.message.splitlines()] == ["kind", "profile"]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="No such file or directory"):
        load_configuration(tmp_path / "absent.yaml", None)


def test_an_unknown_profile_is_told_with_those_there_are() -> None:
    with pytest.raises(click.ClickException, match="--profile: profile: Input should be 'label-priority'"):
        load_configuration(None, "x")


def test_a_document_and_a_profile_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="exclude each other"):
        load_configuration(tmp_path / "berth.yaml", "label-priority")
