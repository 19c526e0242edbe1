"""A SnapStart image of a function must not contain a unique value, a time or a connection.

Lambda takes the image after the import, when a version is published, and starts every environment from it for weeks.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.builders.function_process import KEYS, run
from tests.conftest import PROJECT

pytestmark = pytest.mark.long

EXCEPTIONS = {
    "dateutil time.localtime": "which zone the machine is in: UTC everywhere",
    "logging time.time": "for relativeCreated, which no line of ours has",
    "multiprocessing posix.urandom": "a key for child processes, which are never started",
    "platform posix.uname": "for the user agent",
    "random Random.seed": "botocore spreads its retries by it, the first ones alike in all environments",
}
"""Calls of libraries, and why their results may be the same in all environments."""


def recorded(*handlers: Path) -> set[tuple[Path, str]]:
    """Import all handlers in one process. Return each handler with a package and a function that the package called."""
    lines = run("-m", "tests.fakes.import_recorder", *map(str, handlers), **KEYS)
    return {(Path(handler), asked) for handler, _, asked in (line.partition(" ") for line in lines)}


def test_handler_imports_do_not_read_time_randomness_process_id_or_network() -> None:
    asked = recorded(*sorted(PROJECT.glob("functions/*/app.py")))
    assert {each for each in asked if each[1] not in EXCEPTIONS} == set()


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        pytest.param("import time; started = time.monotonic()", "time.monotonic", id="a clock"),
        pytest.param("from time import time as now; now()", "time.time", id="a clock under another name"),
        pytest.param("from datetime import *; datetime.now()", "datetime.now", id="a date"),
        pytest.param("import random; random.random()", "Random.random", id="randomness"),
        pytest.param("import uuid; uuid.uuid4()", "posix.urandom", id="an identity"),
        pytest.param("import secrets; secrets.token_hex()", "Random.getrandbits|posix.urandom", id="a secret"),
        pytest.param("import os; os.getpid()", "posix.getpid", id="a process id"),
        pytest.param(
            "import socket; socket.socket().connect_ex(('127.0.0.1', 9))", "socket.connect_ex", id="a connection"
        ),
    ],
)
def test_detects_import_that_reads_time_randomness_process_id_or_network(tmp_path: Path, line: str, seen: str) -> None:
    handler = tmp_path / "app.py"
    handler.write_text(line)
    names = {what.partition(" ")[2] for _, what in recorded(handler)}
    assert names & set(seen.split("|"))


@pytest.fixture
def credentials_endpoint() -> Iterator[str]:
    """Serve a role's credentials: a function with SnapStart does not get them in its environment."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            expiry = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
            names = {"AccessKeyId": "id", "SecretAccessKey": "key", "Token": "token", "Expiration": expiry}
            body = json.dumps(names).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_renews_old_credentials_stored_in_a_snapshot_image(credentials_endpoint: str) -> None:
    """Each signed call checks expiry by wall time first: an image may be restored after the credentials expired."""
    program = """
import datetime, importlib.util, sys
spec = importlib.util.spec_from_file_location("app", "functions/filter/app.py")
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
credentials = app.cache.table._client._request_signer._credentials
print(type(credentials).__name__, credentials.refresh_needed())
later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
credentials._time_fetcher = lambda: later
print(credentials.refresh_needed())
"""
    output = run("-c", program, AWS_CONTAINER_CREDENTIALS_FULL_URI=credentials_endpoint)
    assert output == ["RefreshableCredentials False", "True"]
