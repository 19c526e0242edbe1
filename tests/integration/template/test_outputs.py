"""Outputs of template.yaml, and other parts of a deployed stack that the berth command reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from berth_cli.sources.stack import CACHE_TABLE_NAME, LEDGER_TABLE_NAME, SECRET, URL_PREFIX
from tests.deployment.template import TEMPLATE, Deployment
from tests.deployment.transform import transformed

ROLES = {"WatcherRoleArn", "BinderRoleArn"}  # for access entries: docs/reference/security.md
CONSOLE = {"HttpTimeoutSeconds", "WatcherFunctionName"}  # docs/how-to/sam-commands.md
EVERYWHERE = {URL_PREFIX, CACHE_TABLE_NAME, LEDGER_TABLE_NAME, *ROLES, *CONSOLE}
BY_MODE = {
    "basic": EVERYWHERE | {"PasswordSecretArn"},  # docs/reference/security.md
    "mtls": EVERYWHERE | {"DomainNameTarget"},
}
MTLS = {"DomainName": "berth.example.com"}
COMMANDS = TEMPLATE.parent / "cli/berth_cli"
PARAMETER = re.compile(r'parameters(?:\.get\(|\[)"(\w+)"|"(\w+)" in (?:\w+\.)?parameters')


@pytest.mark.parametrize("mode", BY_MODE)
def test_stack_has_the_documented_outputs(template: dict[str, Any], mode: str) -> None:
    assert set(Deployment(template, Authentication=mode, **MTLS).outputs()) == BY_MODE[mode]


def test_commands_read_only_parameters_that_exist(template: dict[str, Any]) -> None:
    read = {next(filter(None, names)) for path in _modules() for names in PARAMETER.findall(path.read_text())}
    assert {"Authentication", "HttpTimeoutSeconds", "Profile", "WatcherMode"} <= read
    assert read <= set(template["Parameters"])


def test_stack_with_basic_has_exactly_one_secret(template: dict[str, Any]) -> None:
    assert list(Deployment(template, Authentication="basic").resources(SECRET)) == ["PasswordSecret"]
    assert not Deployment(template, Authentication="mtls").resources(SECRET)


def test_doctor_can_find_the_schedule_by_its_type() -> None:
    from berth_cli.installation.doctor.aws_account import SCHEDULE

    types = [resource["Type"] for resource in transformed()["Resources"].values()]
    assert types.count(SCHEDULE) == 1


def test_configuration_trial_finds_an_alias_for_every_verb() -> None:
    from berth_cli.configuration.trial import ALIAS, VERB_FUNCTIONS, verbs_of_aliases

    aliases = [name for name, resource in transformed()["Resources"].items() if resource["Type"] == ALIAS]
    found = verbs_of_aliases({name: f"arn:{name}" for name in aliases})
    assert list(found) == list(VERB_FUNCTIONS.values())
    assert len(set(found.values())) == len(VERB_FUNCTIONS)


def _modules() -> list[Path]:
    return sorted(COMMANDS.rglob("*.py"))
