"""The table of docs/reference/health.md, row by row: each source of a running `berth serve` is broken and repaired."""

from __future__ import annotations

import re
import resource
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson
import pytest
import yaml

from tests.builders.certificates import self_signed
from tests.builders.kubeconfigs import kubeconfig, kubeconfig_for
from tests.builders.nodes import labelled_object
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode
from tests.conftest import CLUSTER, PROJECT
from tests.fakes.api_server import KubernetesOnLoopback, verified_kubernetes

from .serving import Served, eventually, start

pytestmark = pytest.mark.long
"""A server in a process of its own."""

PATIENCE = 60
PAGE = (PROJECT / "docs" / "reference" / "health.md").read_text()

CONFIGURATION = """
decisions: file
profile: fragile
definitions: {fragile: {plugins: {enabled: [{name: "berth_plugins.fragile:Fragile"}]}}}
"""
PLUGIN = """
from berth.scheduling.framework import NODES_ONLY, SUCCESS, FilterPlugin

class Fragile(FilterPlugin):
    name = "Fragile"
    reads = NODES_ONLY

    def shape(self, pod):
        return pod.name

    def filter(self, pod, node):
        if pod.name.startswith("poison"):
            raise RuntimeError("poisoned")
        return SUCCESS
"""


@dataclass(frozen=True)
class Row:
    """A row of the page. log: a line, with … for omitted text. status, state: HTTP status and `status` of /healthz."""

    source: str
    fails: str
    log: str
    status: int
    state: str

    @property
    def line(self) -> re.Pattern[str]:
        return re.compile(".*".join(map(re.escape, self.log.split("…"))))


def rows() -> list[Row]:
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `--"):
            status, _, state = cells[3].partition(" ")
            found.append(Row(cells[0].replace("`", ""), cells[1], cells[2].strip("`"), int(status), state.strip("`")))
    return found


@dataclass
class Running:
    """A server with all its sources, and what it has logged."""

    served: Served
    folder: Path
    context: ssl.SSLContext | None = None
    kubernetes: KubernetesOnLoopback = field(default_factory=KubernetesOnLoopback)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for stream in (self.served.process.stdout, self.served.process.stderr):
            Thread(target=self._collect, args=(stream,), daemon=True).start()

    def _collect(self, stream: Any) -> None:
        self.lines.extend(map(str.rstrip, stream))  # one at a time, as they come

    def call(self, path: str, body: str | None = None) -> tuple[int, dict[str, Any]]:
        scheme = "http" if self.context is None else "https"
        request = Request(
            f"{scheme}://127.0.0.1:{self.served.port}/{path}",
            None if body is None else body.encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=20, context=self.context) as response:
                return response.status, orjson.loads(response.read())
        except HTTPError as error:
            return error.code, orjson.loads(error.read())

    def health(self) -> tuple[int, str]:
        status, content = self.call("healthz")
        return status, content.get("status", "")

    def filter(self, name: str) -> None:
        self.call("scheduler/filter", body_of(cache_mode(["n10"], pod_object(name))))

    def bind(self, count: int) -> None:
        for _ in range(count):
            self.call("scheduler/bind", body_of(binding()))

    def limit_files(self, size: int) -> None:
        """Limit the files that the server writes to this size in bytes, as a full disk does."""
        resource.prlimit(self.served.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("sources")
    (folder / "dump.yaml").write_bytes(CLUSTER.read_bytes())
    plugins = folder / "plugins" / "berth_plugins"
    plugins.mkdir(parents=True)
    (plugins / "__init__.py").touch()
    (plugins / "fragile.py").write_text(PLUGIN)
    (folder / "berth.yaml").write_text(CONFIGURATION)
    certificate, key = self_signed(folder, "server")
    served = start(
        f"--cluster={folder / 'dump.yaml'}",
        f"--config={folder / 'berth.yaml'}",
        f"--plugins={folder / 'plugins'}",
        f"--decisions-file={folder / 'decisions'}",
        f"--record={folder / 'recording'}",
        f"--tls-cert={certificate}",
        f"--tls-key={key}",
        "--port=0",
    )
    context = ssl.create_default_context(cafile=str(certificate))
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    yield Running(served, folder, context)
    served.process.kill()
    served.process.wait()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("live")
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes = [labelled_object("n10", "10")]
        watcher = kubeconfig_for(kubernetes.host, folder, kubernetes.authority)
        write_token(folder / "binder", kubernetes, "of-bind")
        served = start(f"--kubeconfig={watcher}", f"--binder-kubeconfig={folder / 'binder'}", "--port=0")
        yield Running(served, folder, kubernetes=kubernetes)
        served.process.kill()
        served.process.wait()


def write_token(path: Path, kubernetes: KubernetesOnLoopback, token: str) -> None:
    cluster = {"certificate-authority-data": kubernetes.authority}
    path.write_text(yaml.safe_dump(kubeconfig(kubernetes.host, {"token": token}, **cluster)))


@contextmanager
def edited(files: Mapping[str, str | None], running: Running) -> Iterator[None]:
    """Write these texts to the files, and restore the files when the block ends. None removes a file."""
    before = {running.folder / name: (running.folder / name).read_bytes() for name in files}
    for path, text in zip(before, files.values(), strict=True):
        path.unlink() if text is None else path.write_text(text)
    yield
    for path, content in before.items():
        path.write_bytes(content)


@contextmanager
def other_files(running: Running, **options: Any) -> Iterator[None]:
    """Replace the server's key by another certificate's key and, if options are given, also the certificate."""
    certificate, key = self_signed(running.folder, "other", **options)
    files = {"server.key": key.read_text()} | ({"server.crt": certificate.read_text()} if options else {})
    with edited(files, running):
        yield


@contextmanager
def server_away(running: Running) -> Iterator[None]:
    running.kubernetes.is_away = True
    yield
    running.kubernetes.is_away = False


@contextmanager
def expired_token(running: Running) -> Iterator[None]:
    running.kubernetes.expired = "token-1"
    yield
    write_token(running.folder / "kubeconfig", running.kubernetes, "token-2")


@contextmanager
def expired_binder(running: Running) -> Iterator[None]:
    running.kubernetes.add_pod("train-0", "uid-train-0")
    running.kubernetes.expired = "of-bind"
    running.bind(3)
    yield
    write_token(running.folder / "binder", running.kubernetes, "of-bind-2")
    running.bind(1)
    assert running.kubernetes.node_of("train-0")


@contextmanager
def raising_plugin(running: Running) -> Iterator[None]:
    for number in range(3):
        running.filter(f"poison-{number}")
    yield
    running.filter("p")


@contextmanager
def full_disk(running: Running) -> Iterator[None]:
    running.limit_files(1)
    running.filter("p")
    yield
    running.limit_files(resource.RLIM_INFINITY)
    running.filter("p")


Break = Callable[[Running], Any]

# Maps a row of the page (its source, and how its failure begins) to a fixture and the function that breaks the source.
BREAKS: dict[tuple[str, str], tuple[str, Break]] = {
    ("--cluster", "The file is invalid"): ("dumped", partial(edited, {"dump.yaml": "items: ["})),
    ("--config", "A changed file is invalid"): ("dumped", partial(edited, {"berth.yaml": "profile: ["})),
    ("--config", "The file is missing"): ("dumped", partial(edited, {"berth.yaml": None})),
    ("--plugins", "A plugin raises"): ("dumped", raising_plugin),
    ("--tls-cert, --tls-key, --client-ca", "A changed file"): ("dumped", other_files),
    ("--tls-cert, --client-ca", "The certificate expires"): ("dumped", partial(other_files, ends=timedelta(minutes=1))),
    ("--decisions-file", "The disk is full"): ("dumped", full_disk),
    ("--record", "The disk is full"): ("dumped", full_disk),
    ("--kubeconfig", "The API server does not answer"): ("live", server_away),
    ("--kubeconfig", "A token"): ("live", expired_token),
    ("--binder-kubeconfig", "As for"): ("live", expired_binder),
}

TESTED_ELSEWHERE = {
    ("--allow-list", "The file is missing"): "test_uses_last_read_for_at_most_15_minutes_while_store_is_unavailable",
    ("--store dynamodb", "The cache table"): "test_unreadable_table_is_unavailable",
    ("--store dynamodb", "The ledger table"): "test_calls_that_fail_three_times_are_a_problem_of_their_verb",
    ("--console", "The page"): "test_failing_source_keeps_the_last_state_and_reports_the_cause",
}


def of_row(row: Row) -> tuple[str, str]:
    [key] = [
        (source, fails)
        for source, fails in (*BREAKS, *TESTED_ELSEWHERE)
        if (source, row.fails[: len(fails)]) == (row.source, fails)
    ]
    return key


def test_every_problem_in_the_documentation_is_tested() -> None:
    assert sorted(map(of_row, rows())) == sorted((*BREAKS, *TESTED_ELSEWHERE))
    sources = "".join(path.read_text() for path in (PROJECT / "tests" / "unit").rglob("test_*.py"))
    assert [name for name in TESTED_ELSEWHERE.values() if f"def {name}(" not in sources] == []


@pytest.mark.parametrize("key", BREAKS, ids=": ".join)
def test_failing_source_is_logged_and_degrades_the_health(request: pytest.FixtureRequest, key: tuple[str, str]) -> None:
    [row] = [row for row in rows() if of_row(row) == key]
    fixture, breaking = BREAKS[key]
    running: Running = request.getfixturevalue(fixture)
    # A recording that has ended does not continue.
    has_ended = row.source != "--record" and any("recording has ended" in line for line in running.lines)
    lasting = {"--record"} if has_ended else set()

    def problems() -> set[str]:
        return set(running.call("healthz")[1].get("problems", {}))

    eventually(lambda: problems() <= {"--record"}, PATIENCE)
    seen = len(running.lines) if row.source != "--record" else 0
    with breaking(running):
        eventually(lambda: any(map(row.line.search, running.lines[seen:])), PATIENCE)
        eventually(lambda: running.health() == (row.status, row.state) and problems() - lasting, PATIENCE)
        if row.source == "--decisions-file":
            assert running.call("scheduler/filter", body_of(cache_mode(["n10"])))[0] == 200
    eventually(lambda: problems() <= lasting | {"--record"}, PATIENCE)
