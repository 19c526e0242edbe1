"""What is missing is said before the build, which takes a minute."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.deployment import sam
from tools.local_stack import stack
from tools.local_stack.stack import (
    ENVIRONMENT,
    SCHEDULER,
    Address,
    CannotStart,
    deploy,
    leave_accounts,
    write_files,
)


def test_leaves_the_accounts_of_the_shell() -> None:
    environment = {"AWS_PROFILE": "production", "AWS_ENDPOINT_URL": "https://x", "PATH": "/bin"}
    leave_accounts(environment)
    assert environment == {"PATH": "/bin"}


class Account:
    """An emulator that keeps the secrets of kubeconfigs."""

    endpoint_url = "http://127.0.0.1:4566"

    def __init__(self) -> None:
        self._kubeconfig = ""

    def create_kubeconfigs(self, watcher: Mapping[str, object], binder: Mapping[str, object]) -> dict[str, str]:
        assert watcher == binder
        self._kubeconfig = json.dumps(binder)
        return {"WatcherKubeconfigSecretArn": "arn", "BinderKubeconfigSecretArn": "arn"}

    def get_secret_value(self, SecretId: str) -> Mapping[str, str]:  # noqa: N803  # as boto3 calls it
        return {"SecretString": self._kubeconfig}

    def client(self, service: str) -> Account:
        return self

    def environment(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL": self.endpoint_url, "HOME": "/root"}


KUBECONFIG: dict[str, Any] = {
    "current-context": "kind",
    "contexts": [{"name": "kind", "context": {"cluster": "kind", "user": "me"}}],
    "clusters": [{"name": "kind", "cluster": {"server": "https://127.0.0.1:6443"}}],
}


@pytest.mark.parametrize(
    ("cluster", "user", "accepts"),
    [
        pytest.param({"certificate-authority-data": "QQ=="}, {"token": "t"}, True, id="a token"),
        pytest.param({"certificate-authority": "/home/me/ca.crt"}, {"token": "t"}, False, id="a file of this machine"),
        pytest.param({}, {"exec": {"command": "aws"}}, False, id="a user that runs a command"),
    ],
)
def test_takes_a_kubeconfig_that_a_function_can_use(
    cluster: Mapping[str, str],
    user: Mapping[str, object],
    accepts: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or it is refused before the build."""
    steps: list[str] = []
    clusters = [{"name": "kind", "cluster": {**KUBECONFIG["clusters"][0]["cluster"], **cluster}}]
    document = {**KUBECONFIG, "clusters": clusters, "users": [{"name": "me", "user": user}]}
    monkeypatch.setattr(sam, "build", lambda directory, machine: directory / "template.yaml")
    monkeypatch.setattr(sam, "deploy", lambda template, parameters, environment: steps.append("deployed"))
    account: Any = Account()
    if accepts:
        deploy(account, document, tmp_path, {}, lambda step: nullcontext())
        assert steps == ["deployed"]
    else:
        with pytest.raises(CannotStart, match=r"make such a file: kubectl config view --raw --minify --flatten > FILE"):
            deploy(account, document, tmp_path, {}, pytest.fail)


@pytest.mark.parametrize(
    ("kubeconfig", "words"),
    [
        pytest.param(None, [], id="a dump"),
        pytest.param("kind.kubeconfig", ["--scheduler-kubeconfig={directory}/kind.kubeconfig"], id="a live cluster"),
    ],
)
def test_writes_files_for_another_terminal(
    kubeconfig: str | None, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    berth = tmp_path / "berth"
    berth.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    berth.chmod(0o700)
    monkeypatch.setattr(stack, "BERTH", berth)
    monkeypatch.chdir(tmp_path)
    account: Any = Account()
    url = "http://127.0.0.1:4566/x/$default/scheduler"
    write_files(tmp_path, account, Address(url, "berth", "p'w"), None if kubeconfig is None else Path(kubeconfig))
    assert (tmp_path / SCHEDULER).read_text().splitlines() == [
        *("scheduler-config", "--stack=berth-emulator", f"--url={url}", "--with-password"),
        *(each.format(directory=tmp_path) for each in words),
    ]
    shell = (
        f'. {tmp_path / ENVIRONMENT} && printf "%s\\n" "$AWS_ENDPOINT_URL" "$BERTH_STACK" "$BERTH_URL" "$BERTH_USER"'
    )
    read = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout.splitlines()
    assert read == ["http://127.0.0.1:4566", "berth-emulator", url, "berth:p'w"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / SCHEDULER, tmp_path / ENVIRONMENT)} == {0o600}
