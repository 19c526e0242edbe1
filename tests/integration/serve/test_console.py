"""`berth console` and `berth serve --console` in processes of their own, asked as a browser asks."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders.event_fixtures import EVENTS
from tests.builders.http_calls import Caller, Response

from .serving import environment, eventually

pytestmark = pytest.mark.long
"""A server in a process of its own for each test."""

BERTH = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')"]
ADDRESS = re.compile(r"console: http://127\.0\.0\.1:(\d+)/#token=(\S+) \(opens once, in one browser\)")


@dataclass
class Console:
    process: subprocess.Popen[str]
    port: int
    token: str

    def ask(self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> Response:
        caller = Caller(self.port)
        try:
            return caller.request(method, path, None, headers)
        finally:
            caller.close()

    def session(self) -> Mapping[str, str]:
        headers = {"Authorization": f"Bearer {self.token}", "Origin": f"http://127.0.0.1:{self.port}"}
        return {"Authorization": f"Bearer {self.ask('/session', 'POST', headers).json['session']}"}


@contextmanager
def running(*arguments: str) -> Iterator[Console]:
    process = subprocess.Popen([*BERTH, *arguments], env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = None
        while found is None:
            line = process.stdout.readline()
            assert line, "it ended"
            found = ADDRESS.match(line)
        yield Console(process, int(found[1]), found[2])
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("console") / "cluster.yaml"
    path.write_bytes((EVENTS / "cluster.yaml").read_bytes())
    return path


@pytest.fixture(scope="module")
def console(dump: Path) -> Iterator[Console]:
    with running("console", "--cluster", str(dump), "--port", "0") as found:
        yield found


def test_serves_the_page_and_the_data_of_a_dump(console: Console, dump: Path) -> None:
    assert b"<title>Berth console</title>" in console.ask("/").content
    assert console.ask("/api/cluster").status == 401
    session = console.session()
    eventually(lambda: console.ask("/api/cluster", headers=session).status == 200, 20)
    content = console.ask("/api/cluster", headers=session).json
    assert content["source"] == str(dump)
    assert sorted(each["name"] for each in content["nodes"]) == ["n10", "n20", "plain", "worded"]
    assert console.process.stdout is not None
    assert ADDRESS.match(next(line for line in console.process.stdout if "console:" in line))


def test_serves_every_module_of_the_page(console: Console) -> None:
    """Follows every import from the first file of the page."""
    seen, waiting = set(), ["/main.js"]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        found = console.ask(path)
        assert (path, found.status, found.headers["content-type"]) == (path, 200, "text/javascript; charset=utf-8")
        folder = Path(path).parent
        for name in re.findall(r"from '(\.[^']+)'", found.content.decode()):
            waiting.append("/" + str((folder / name).resolve().relative_to("/")))
    assert len(seen) > 10


def test_shows_changed_dump_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    dump = tmp_path / "cluster.yaml"
    text = (EVENTS / "cluster.yaml").read_text()
    dump.write_text(text)
    with running("console", "--cluster", str(dump), "--port", "0") as console:
        session = console.session()
        eventually(lambda: console.ask("/api/cluster", headers=session).status == 200, 20)
        assert "nodes" not in console.ask("/api/cluster?since=1", headers=session).json
        dump.write_text(text.replace("hostname: plain", "hostname: changed"))
        eventually(lambda: "nodes" in console.ask("/api/cluster?since=1", headers=session).json, 20)
        changed = console.ask("/api/cluster?since=1", headers=session).json
        assert "changed" in {each["labels"].get("kubernetes.io/hostname") for each in changed["nodes"]}
        console.process.send_signal(signal.SIGINT)
        assert console.process.wait(10) == 0
