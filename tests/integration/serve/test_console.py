"""`berth console` in a process of its own, called as a browser calls it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.builders.event_fixtures import EVENTS
from tests.builders.http_calls import Caller, Response

from .serving import environment, eventually

pytestmark = pytest.mark.long
"""A server in a process of its own."""

BERTH = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')"]
ADDRESS = re.compile(r"console: http://127\.0\.0\.1:(\d+)/#token=(\S+) \(opens once, in one browser\)")


def ask(port: int, path: str, method: str = "GET", **headers: str) -> Response:
    with closing(Caller(port)) as caller:
        return caller.request(method, path, None, headers)


def test_shows_a_dump_and_its_changes_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    dump, text = tmp_path / "cluster.yaml", (EVENTS / "cluster.yaml").read_text()
    dump.write_text(text)
    command = [*BERTH, "console", f"--cluster={dump}", "--port=0"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            addresses = filter(None, map(ADDRESS.match, process.stdout))
            port, token = next(addresses).groups()
            get = partial(ask, int(port))
            assert b"<title>Berth console</title>" in get("/").content
            assert get("/api/cluster").status == 401
            opening = {"Authorization": f"Bearer {token}", "Origin": f"http://127.0.0.1:{port}"}
            key = get("/session", "POST", **opening).json["session"]
            assert next(addresses).group(2) != token
            data = partial(get, "/api/cluster", Authorization=f"Bearer {key}")
            eventually(lambda: data().status == 200, 20)
            assert data().json["source"] == str(dump)
            assert sorted(each["name"] for each in data().json["nodes"]) == ["n10", "n20", "plain", "worded"]
            later = partial(get, "/api/cluster?since=1", Authorization=f"Bearer {key}")
            assert "nodes" not in later().json
            dump.write_text(text.replace("hostname: plain", "hostname: changed"))
            eventually(lambda: "nodes" in later().json, 20)
            assert "changed" in {each["labels"].get("kubernetes.io/hostname") for each in later().json["nodes"]}
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0
        finally:
            process.kill()
