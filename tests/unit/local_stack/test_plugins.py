"""Other plugins for the local stack that runs in another terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from click.testing import CliRunner, Result

from tests.deployment import sam
from tools.local_stack import plugins, stack
from tools.local_stack.__main__ import main

ENVIRONMENT = """\
export AWS_ACCESS_KEY_ID=test
export AWS_ENDPOINT_URL=http://127.0.0.1:4566
export AWS_REGION=eu-central-1
export AWS_SECRET_ACCESS_KEY=test
export BERTH_URL='http://127.0.0.1:4566/x/$default/scheduler'
export BERTH_USER='berth:a password'
"""
PACKAGES = '#!/bin/sh\nfor each; do case "$each" in --file=*) echo zipped > "${each#--file=}";; esac; done\n'
FAILS = "#!/bin/sh\necho 'DIR has no berth_plugins/__init__.py' >&2; exit 1\n"


class Account:
    """Of the stack that runs: what was published, and what was deployed."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.plugins = directory / "own"
        self.plugins.mkdir(parents=True)
        self.published: list[bytes] = []
        self.deployed: list[tuple[Path, Mapping[str, str], Mapping[str, str]]] = []
        self.started: list[stack.Address] = []
        self._monkeypatch = monkeypatch
        (directory / stack.ENVIRONMENT).write_text(ENVIRONMENT)
        (directory / "build.parameters.yaml").write_text(
            json.dumps({"Authentication": "basic", "PluginLayerArn": "v1"})
        )
        monkeypatch.setattr(boto3.Session, "client", lambda session, service, endpoint_url: self)
        monkeypatch.setattr(sam, "deploy", lambda *deployed: self.deployed.append(deployed))
        monkeypatch.setattr(plugins, "start_verbs", self.started.append)
        self.command(PACKAGES)

    def command(self, script: str) -> None:
        """What stands for berth."""
        path = self.directory / "berth"
        path.write_text(script)
        path.chmod(0o700)
        self._monkeypatch.setattr(plugins, "BERTH", path)

    def publish_layer_version(self, **layer: Any) -> Mapping[str, str]:
        self.published.append(layer["Content"]["ZipFile"])
        return {"LayerVersionArn": "v2"}

    def replace(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["--replace-plugins", f"--directory={self.directory}", *arguments])


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    return Account(tmp_path / "local-stack", monkeypatch)


def test_deploys_the_stack_as_it_was_with_another_layer(account: Account) -> None:
    done = account.replace(f"--plugins={account.plugins}")
    assert done.exit_code == 0, done.output
    assert "apply the configuration again" in done.stdout
    assert account.published == [b"zipped\n"]
    [(template, parameters, environment)] = account.deployed
    assert template == account.directory / "build" / "template.yaml"
    assert parameters == {"Authentication": "basic", "PluginLayerArn": "v2"}
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert "BERTH_USER" not in environment


def test_starts_the_functions_with_the_plugins(account: Account) -> None:
    """So that the commands after it, such as berth doctor, find functions that answer."""
    assert account.replace(f"--plugins={account.plugins}").exit_code == 0
    assert account.started == [
        stack.Address("http://127.0.0.1:4566/x/$default/scheduler", username="berth", password="a password")
    ]


def test_deploys_nothing_that_cannot_be_packaged(account: Account) -> None:
    account.command(FAILS)
    done = account.replace(f"--plugins={account.plugins}")
    assert (done.exit_code, account.deployed) == (1, [])
    assert "berth plugin package ended with 1: DIR has no berth_plugins/__init__.py" in done.stderr


def test_needs_a_stack_that_runs(account: Account) -> None:
    (account.directory / stack.ENVIRONMENT).unlink()
    done = account.replace(f"--plugins={account.plugins}")
    assert (done.exit_code, account.deployed) == (1, [])
    assert "no local stack is running; start one with: make local-stack PLUGINS=DIR" in done.stderr


def test_needs_plugins(account: Account) -> None:
    done = account.replace()
    assert done.exit_code == 2
    assert "--replace-plugins needs --plugins DIR" in done.stderr
