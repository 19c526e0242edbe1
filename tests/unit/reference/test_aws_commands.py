"""Every AWS CLI command in the documents, the examples and the template, and that a command prints, checked against
botocore's models of the services."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from botocore import xform_name
from botocore.session import get_session

from tests.conftest import PROJECT

FILES = (
    "docs/**/*.md",
    "examples/**/*.md",
    "examples/*.sh",
    "cli/**/*.py",
    "layers/**/*.py",
    "README.md",
    "template.yaml",
)
SOURCES = sorted(path for pattern in FILES for path in PROJECT.glob(pattern))
GLOBAL_OPTIONS = {
    "--query",
    "--output",
    "--region",
    "--profile",
    "--no-cli-pager",
    "--cli-binary-format",
    "--cli-input-json",
    "--endpoint-url",
}
CLI_ONLY: dict[tuple[str, str], set[str]] = {
    ("logs", "tail"): {"--since", "--filter-pattern", "--follow", "--format"},
    ("s3", "cp"): set(),
    ("s3", "rm"): {"--recursive"},
    ("s3", "ls"): set(),
    ("eks", "wait"): {"--name"},
    ("eks", "update-kubeconfig"): {"--name", "--kubeconfig"},
    ("cloudformation", "wait"): {"--stack-name"},
    ("dynamodb", "wait"): {"--table-name"},
}
"""Commands that the CLI adds to the services' operations, with their options."""
CLI_OPTIONS: dict[tuple[str, str], set[str]] = {
    ("lambda", "publish-layer-version"): {"--zip-file"},
    ("sns", "subscribe"): {"--notification-endpoint"},
}
"""Options that the CLI adds to an operation of a service."""

COMMAND = re.compile(r"(?<![\w./-])aws(?: \\\n)? +([a-z][a-z0-9-]+) +([a-z][a-z0-9-]+)((?:[^\n`|;&)]|\\\n)*)")
OPTION = re.compile(r"(?<=\s)(--[a-z][a-z0-9-]*)")


def commands() -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield each command with its file, service, operation and options."""
    for path in SOURCES:
        text = re.sub(r"\n>? *(?=--[a-z])", " ", path.read_text())
        for found in COMMAND.finditer(text.replace("\\\n", " ")):
            service, operation, rest = found.groups()
            yield path.name, service, operation, OPTION.findall(rest)


@cache
def services() -> dict[str, str]:
    """The names that differ from the models' are the CLI's own."""
    return {name: name for name in get_session().get_available_services()} | {"s3api": "s3", "deploy": "codedeploy"}


@cache
def operations(service: str) -> dict[str, set[str]]:
    """By command: its options."""
    model = get_session().get_service_model(services()[service])
    found = {}
    for name in model.operation_names:
        shape = model.operation_model(name).input_shape
        members = {} if shape is None else shape.members
        names = {f"--{xform_name(member, '-')}": member for member in members}
        booleans = {option for option, member in names.items() if members[member].type_name == "boolean"}
        found[xform_name(name, "-")] = {*names, *(f"--no-{option[2:]}" for option in booleans)}
    return found


def is_known(service: str, operation: str, options: list[str]) -> bool:
    """Whether the CLI has the command, with all of these options."""
    known = CLI_ONLY.get((service, operation))
    if known is None:
        if service not in services() or operation not in operations(service):
            return False
        known = operations(service)[operation] | CLI_OPTIONS.get((service, operation), set())
    return set(options) - GLOBAL_OPTIONS <= known


def test_every_documented_aws_command_exists() -> None:
    found = list(commands())
    assert len(found) > 20
    assert [command for command in found if not is_known(*command[1:])] == []
    assert not is_known("eks", "describe-clusters", ["--name"])
    assert not is_known("eks", "describe-cluster", ["--cluster-name"])
    assert not is_known("ekss", "describe-cluster", ["--name"])
