"""What is missing is said before the build, which takes a minute."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from tests.deployment import emulator, sam
from tests.e2e.kubernetes.loopback import HOST, free_port
from tools.local_stack import stack
from tools.local_stack.__main__ import main
from tools.local_stack.stack import (
    ENVIRONMENT,
    SCHEDULER,
    Address,
    CannotStart,
    check_tools,
    deploy,
    keep_log,
    leave_accounts,
    read_kubeconfig,
    remove_files,
    start_verbs,
    wait_until_healthy,
    write_files,
)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = tmp_path / "present"
    present.touch()
    monkeypatch.setattr(sam, "COMMAND", present)
    monkeypatch.setattr(emulator, "COMMAND", present)
    monkeypatch.setattr(emulator, "PYTHON", sys.executable)


@pytest.mark.usefixtures("tools")
def test_accepts_tools_and_free_port() -> None:
    check_tools(free_port())


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("tool", "name"), [pytest.param(sam, "sam", id="sam"), pytest.param(emulator, "ministack", id="the emulator")]
)
def test_names_missing_tool_and_what_installs_it(
    tool: object, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "COMMAND", tmp_path / "absent")
    with pytest.raises(CannotStart, match=rf"{name}.* is not installed: .*; run: make local-stack"):
        check_tools(free_port())


@pytest.mark.usefixtures("tools")
def test_names_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart, match=rf"port {port} cannot be used: .*PORT="):
            check_tools(port)


def test_leaves_the_accounts_of_the_shell() -> None:
    environment = {"AWS_PROFILE": "production", "AWS_ENDPOINT_URL": "https://x", "PATH": "/bin"}
    leave_accounts(environment)
    assert environment == {"PATH": "/bin"}


@pytest.mark.usefixtures("tools")
def test_names_emulator_of_another_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs the functions with its own: compiled packages of the layers would not load."""
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho Python 3.7.1\n")
    other.chmod(0o700)
    monkeypatch.setattr(emulator, "PYTHON", other)
    with pytest.raises(CannotStart, match=r"has Python 3\.7\.1, and \.venv has 3\.\d+; .*rm -r \.tools/ministack"):
        check_tools(free_port())


def test_says_where_the_cause_of_a_missing_publication_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500)
            self.end_headers()

    monkeypatch.setattr(stack, "FIRST_PUBLICATION_SECONDS", 0)
    with HTTPServer((HOST, 0), Handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        called = Address(f"http://{HOST}:{server.server_port}/scheduler", "berth", "secret")
        with pytest.raises(
            CannotStart, match=rf"/healthz answers 500 .*; the emulator's log in {tmp_path} has the cause"
        ):
            wait_until_healthy(called, tmp_path)


@contextmanager
def server(answers: Iterable[int]) -> Iterator[tuple[Address, list[str]]]:
    """Its address, and the verbs that were called. answers: the status of each call, the last one of all further."""
    called: list[str] = []
    statuses = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            called.append(self.path.rpartition("/")[2])
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer((HOST, 0), Handler) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        try:
            yield Address(f"http://{HOST}:{http.server_port}/scheduler", "berth", "secret"), called
        finally:
            http.shutdown()


def test_starts_each_verb_and_repeats_what_is_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    """While functions start, the account's concurrency may be used up by them."""
    monkeypatch.setattr(stack, "POLL_SECONDS", 0)
    with server([200, 429, 429, 200, 500, 200]) as (address, called):
        start_verbs(address)
    assert called == ["filter", "prioritize", "prioritize", "prioritize", "bind", "preempt"]


def test_names_verb_that_stays_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "FIRST_CALLS_SECONDS", 0)
    with (
        server([429]) as (address, _),
        pytest.raises(CannotStart, match=r"filter is throttled for more than 0 s: .* concurrent calls"),
    ):
        start_verbs(address)


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "\x00"])
def test_refuses_file_that_is_no_kubeconfig(text: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(CannotStart, match="is not a kubeconfig"):
        read_kubeconfig(file)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        pytest.param(["--cluster", "absent.yaml"], 2, "does not exist", id="no such dump"),
        pytest.param(["--cluster", "{file}", "--kubeconfig", "{file}"], 2, "not both", id="two clusters"),
        pytest.param(["--parameter", "Name"], 2, "write NAME=VALUE", id="half a parameter"),
    ],
)
def test_reports_wrong_options(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    words = [f"--directory={tmp_path / 'local-stack'}", *(each.format(file=file) for each in arguments)]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, message in done.output) == (status, True), done.output


def test_removes_the_files_that_have_the_password(tmp_path: Path) -> None:
    for name in (ENVIRONMENT, SCHEDULER, "account"):
        (tmp_path / name).touch()
    for _ in range(2):
        remove_files(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["account"]


def test_log_of_account_stays_without_the_copies_of_functions(tmp_path: Path) -> None:
    keep_log(tmp_path / "never-made")
    (tmp_path / "ministack-4566.log").touch()
    (tmp_path / "ministack-lambda-filter" / "layer_0").mkdir(parents=True)
    keep_log(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["ministack-4566.log"]


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
