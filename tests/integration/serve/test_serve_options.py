"""`berth serve` with options, files and ports that it cannot use: it says in one line what is wrong, and ends."""

from __future__ import annotations

import os
import socket
from typing import NoReturn

import pytest
from botocore.exceptions import BotoCoreError
from click.testing import CliRunner, Result

from berth_cli.server import local_stack
from tests.builders.event_fixtures import EVENTS

DUMP = str(EVENTS / "cluster.yaml")


def refused(*arguments: str) -> str:
    """Return the error line of a `berth serve` that cannot start; the usage is dropped."""
    from berth_cli.main import main

    return _only_line(CliRunner().invoke(main, ["serve", *arguments], prog_name="berth"))


def _only_line(done: Result) -> str:
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "give either --cluster FILE (a dump) or --kubeconfig FILE (a live cluster)"),
        ("--cluster=DUMP --kubeconfig=absent", "give either --cluster FILE (a dump) or --kubeconfig FILE (a live"),
        ("--cluster=absent", "absent is not a file; make a dump with: kubectl get nodes,pods -A -o yaml > FILE"),
        ("--kubeconfig=absent", "absent is not a file; make a kubeconfig with: kubectl config view --raw --minify > "),
        ("--kubeconfig=DUMP", "kubeconfig DUMP has no context"),
        ("--cluster=DUMP --binder-kubeconfig=DUMP", "needs an existing file and --kubeconfig"),
        ("--cluster=DUMP --store=dynamodb", "--store dynamodb needs --kubeconfig"),
        ("--cluster=DUMP --endpoint-url=http://127.0.0.1:8000", "need --store dynamodb"),
        ("--cluster=DUMP --tls-cert=a", "give both --tls-cert and --tls-key, or neither"),
        ("--cluster=DUMP --tls-key=a", "give both --tls-cert and --tls-key, or neither"),
        ("--cluster=DUMP --client-ca=a", "give both --client-ca and --allow-list, or neither"),
        ("--cluster=DUMP --allow-list=a", "give both --client-ca and --allow-list, or neither"),
        ("--cluster=DUMP --client-ca=a --allow-list=b", "--client-ca needs --tls-cert and --tls-key"),
        ("--cluster=DUMP --tls-cert=absent --tls-key=absent", "--tls-cert absent, --tls-key absent: No such file"),
        ("--cluster=DUMP --record=absent/r", "--record absent/r: No such file or directory"),
        ("--cluster=DUMP --decisions-file=absent/d", "--decisions-file absent/d: No such file or directory"),
    ],
)
def test_rejects_wrong_options_with_one_line(arguments: str, complaint: str) -> None:
    assert complaint.replace("DUMP", DUMP) in refused(*arguments.replace("DUMP", DUMP).split(), "--port=0")


@pytest.mark.parametrize(
    ("arguments", "seconds"), [pytest.param((), 5.0, id="default"), (("--http-timeout=25s",), 25.0)]
)
def test_functions_use_the_schedulers_http_timeout(
    arguments: tuple[str, ...], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[str] = []

    def load(*_: object) -> NoReturn:
        known.append(os.environ["BERTH_HTTP_TIMEOUT"])
        raise BotoCoreError

    with monkeypatch.context() as patched:
        for name in [each for each in os.environ if each.startswith("BERTH_")]:
            patched.delenv(name)
        patched.setattr(local_stack, "load_handler", load)
        refused("--cluster", DUMP, "--port=0", *arguments)
    assert list(map(float, known)) == [seconds]


def test_reports_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused("--cluster", DUMP, "--port", str(port))
    assert line.startswith(f"Error: 127.0.0.1:{port} cannot be listened on (Address already in use")
    assert line.endswith("choose another with --port")
