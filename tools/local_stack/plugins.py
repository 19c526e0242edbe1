"""Adds custom plugins as a layer: to the first deployment, or in place of the plugins of a running local stack."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import boto3

from berth_cli.installation.plugin_layer import build_layer
from tests.deployment import sam
from tools.local_stack.stack import ENVIRONMENT, Address, CannotStart, Step, start_verbs

PARAMETER = "PluginLayerArn"


def publish_plugins(functions: Any, plugins: Path, directory: Path) -> dict[str, str]:
    """Package the plugins and publish them as a layer. Return the stack's parameter. functions: a Lambda client."""
    machine, package = sam.Machine.this(), directory / "plugins.zip"
    build_layer(plugins, package, machine.architecture, machine.python_version)
    layer = functions.publish_layer_version(
        LayerName=f"{sam.STACK_NAME}-plugins",
        Content={"ZipFile": package.read_bytes()},
        CompatibleRuntimes=[f"python{machine.python_version}"],
    )
    return {PARAMETER: layer["LayerVersionArn"]}


def replace_plugins(plugins: Path, directory: Path, step: Step) -> None:
    """Redeploy the running stack with these plugins, and start its functions. Raises CannotStart."""
    try:  # the file exists only while the stack runs
        lines = (directory / ENVIRONMENT).read_text().splitlines()
    except FileNotFoundError:
        raise CannotStart("no local stack is running; start one with: make local-stack PLUGINS=DIR") from None
    variables = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    account = {name: value for name, value in variables.items() if name.startswith("AWS_")}
    session = boto3.Session(
        account["AWS_ACCESS_KEY_ID"], account["AWS_SECRET_ACCESS_KEY"], region_name=account["AWS_REGION"]
    )
    with step("plugins: package and publish"):
        functions = session.client("lambda", endpoint_url=account["AWS_ENDPOINT_URL"])
        layer = publish_plugins(functions, plugins, directory)
    template = directory / "build" / "template.yaml"
    with step("sam deploy: the functions with the plugins, about half a minute"):
        sam.deploy(template, {**sam.deployed_parameters(template), **layer}, {**os.environ, **account})
    username, _, password = variables["BERTH_USER"].partition(":")
    with step("verbs: first calls"):
        start_verbs(Address(variables["BERTH_URL"], username, password))
