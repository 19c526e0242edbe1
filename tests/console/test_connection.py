"""The page without its console, and with it again."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.nodes import node_with
from tests.console.chromium import Tab
from tests.console.served import LiveSource, served
from tests.console.test_overview import IS_CURRENT, IS_SEEN, NODES, PODS, ROWS, opened

KIND = "document.getElementById('status').dataset.kind"
BERTH = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')"]
ADDRESS = re.compile(r"^console: (\S+)", re.MULTILINE)
START_SECONDS = 60


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


class Command:
    """`berth console` as a process, with the same options each time."""

    def __init__(self, folder: Path) -> None:
        dump = folder / "dump.json"
        dump.write_text(json.dumps({"kind": "List", "items": [node_with("n1"), node_with("n2")]}))
        self._log = folder / "console.log"
        self._options = ["console", "--cluster", str(dump), f"--port={free_port()}"]

    @contextmanager
    def running(self) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        """The process, and the address that it has printed."""
        with self._log.open("wb") as log:
            process = subprocess.Popen([*BERTH, *self._options], stdout=log, stderr=log)
        try:
            end = time.monotonic() + START_SECONDS
            while not (found := ADDRESS.search(self._log.read_text())):
                has_ended = process.poll() is not None or time.monotonic() > end
                assert not has_ended, self._log.read_text()
                time.sleep(0.05)
            yield process, found[1]
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    return Command(tmp_path)


def test_page_shows_what_was_seen_last_while_its_console_is_gone(tab: Tab, command: Command) -> None:
    with command.running() as (process, address):
        tab.open(address)
        tab.wait_for(IS_CURRENT)
        tab.evaluate("location.hash = '#/overview?rows=nodes&node=n2'")
        tab.wait_for("document.querySelector('#details h2')?.innerText === 'n2'")
        process.send_signal(signal.SIGKILL)
        tab.wait_for(f"{KIND} === 'disconnected'")
        assert "does not answer" in tab.text("#status")
        assert tab.text("#details h2") == "n2"


def test_page_of_an_earlier_console_says_what_to_do_and_recovers_with_another_tab(tab: Tab) -> None:
    with served(LiveSource(NODES)) as console:
        opened(tab, console, "#/overview?rows=nodes&filter=n1")
        tab.wait_for(f"({ROWS})[0] === 'n1'")
    with served(LiveSource(NODES), console.port) as again:
        tab.wait_for(f"{KIND} === 'closed'")
        assert "open the address that berth console printed last" in tab.text("#status")
        with tab.beside() as other:
            other.open(again.addresses[-1])
            other.wait_for(IS_CURRENT)
            tab.wait_for(IS_CURRENT)
            assert tab.evaluate(ROWS) == ["n1", "n10", "n11"]


def test_page_without_a_session_says_only_how_to_get_one(tab: Tab) -> None:
    with served(LiveSource(NODES, PODS)) as console:
        tab.open(f"{console.origin}/#/overview")
        tab.wait_for(f"{KIND} === 'closed'")
        assert "Open the address that berth console printed last" in tab.text("#start")
        seen = "[...document.querySelectorAll('main > *')].filter((each) => each.checkVisibility()).map(({ id }) => id)"
        assert tab.evaluate(seen) == ["start"]


def test_says_that_data_is_old_and_why(tab: Tab) -> None:
    source = LiveSource(NODES)
    with served(source) as console:
        opened(tab, console)
        source.shows(NODES, problem="the API server cannot be reached", age=600)
        tab.wait_for(f"{KIND} === 'stale'")
        assert "The data is 10 min old. the API server cannot be reached" in tab.text("#status")
        assert tab.evaluate(IS_SEEN.format("map"))
