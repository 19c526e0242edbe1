"""The option -o: one vocabulary for all commands, and the same content in JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterator

import click
import orjson
import pytest
import yaml
from click.testing import CliRunner

from berth_cli.main import main
from tests.conftest import CLUSTER

VOCABULARY = {"table", "json", "yaml"}
DIFFERENT = {
    "policy diff": VOCABULARY | {"markdown"},  # for a pull request
    "config show": {"yaml", "json"},  # a document has no table
    "scheduler-config": {"yaml", "chart"},  # manifests have no table either; chart: values for the Helm chart
}
WITHOUT_RESULT = {
    "certificates allow",
    "certificates init",
    "certificates issue",
    "certificates revoke",
    "certificates rotate",
    "certificates upload",
    "config apply",
    "config nodepool",  # its result is YAML for kubectl
    "config rollback",
    "config schema",  # it is JSON
    "console",
    "demo",
    "plugin package",
    "reservations rebuild",
    "serve",
    "watch",
}
"""Commands whose result is their exit status or has one fixed format, and servers."""


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif command is not None:
            yield " ".join((*path, name)), command


def test_every_command_with_a_result_offers_the_same_formats() -> None:
    for name, command in commands():
        formats = {
            str(value)
            for parameter in command.params
            if parameter.name == "output" and isinstance(parameter.type, click.Choice)
            for value in parameter.type.choices
        }
        assert formats == (set() if name in WITHOUT_RESULT else DIFFERENT.get(name, VOCABULARY)), name


@pytest.mark.parametrize("explain", [[], ["--explain"]])
def test_simulate_prints_the_same_document_as_json_and_yaml(explain: list[str]) -> None:
    words = ["simulate", "--cluster", str(CLUSTER), "--scheduler-name", "berth-scheduler", *explain]
    found = {each: CliRunner().invoke(main, [*words, "-o", each]).stdout for each in ("json", "yaml")}
    assert yaml.safe_load(found["yaml"]) == orjson.loads(found["json"])
