"""Cold starts compared with the least that any function with this table takes: a bare botocore client and one read.

Each cold start runs in a separate process, alternating with that floor, and reads a table over HTTP: a server in this
process answers as DynamoDB does (moto). Times are the child's processor time from its first import to the first answer;
the minimum of all runs counts, because other work on the machine only adds to the time.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, cast

from tests.bench.figures import Family, Figure

if TYPE_CHECKING:
    from tests.bench.functions import Contents

RUNS = 8
FILTER_TARGET, BIND_TARGET = 1.5, 1.6
FULL_TARGET_MS = 1_200
ADDRESS = "https://dynamodb.eu-central-1.amazonaws.com/"
SERVER = "https://127.0.0.1:9"
CACHE_TABLE, LEDGER_TABLE = "cache", "ledger"
PROJECT = Path(__file__).resolve().parents[2]

FLOOR = """
import time; started = time.process_time()
from botocore.config import Config
from botocore.session import Session
client = Session().create_client("dynamodb", config=Config())
item = client.get_item(TableName="cache", Key={"pk": {"S": "head"}, "sk": {"N": "0"}})["Item"]
print(time.process_time() - started)
"""
FUNCTION = """
import time; started = time.process_time()
import importlib.util, json, sys
_, handler, event = sys.argv
spec = importlib.util.spec_from_file_location("app", handler)
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
with open(event) as file:
    answer = app.handler(json.load(file), None)
taken = time.process_time() - started
assert answer["statusCode"] == 200, answer
print(taken, file=sys.stderr)
"""


def families() -> Iterator[Family]:
    yield Family("cold", figures)


def figures() -> Iterator[Figure]:
    """Yield the figures of filter with label-priority and with full, for 5,000 nodes and 150,000 pods in the snapshot
    and 5,000 changes of pods in the log; and of a bind with a ledger, whose cluster refuses the connection: with a
    kubeconfig, and with the address and authority of an EKS cluster."""
    from tests.bench.functions import LOGGED_PODS, kept, write_contents

    with TemporaryDirectory() as name:
        contents = write_contents(Path(name) / "contents", list(kept()), LOGGED_PODS)
        yield from beside_floor(Path(name), contents)


def beside_floor(directory: Path, contents: Contents, runs: int = RUNS) -> Iterator[Figure]:
    """Yield the figures for a table with these contents."""
    from tests.bench import cluster
    from tests.bench.calls import event
    from tests.bench.functions import NODES
    from tests.builders.certificates import self_signed
    from tests.builders.kubeconfigs import kubeconfig_for

    body = {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid", "Node": "n10"}
    (directory / "bind").write_text(json.dumps({"body": json.dumps(body)}))
    names = [cluster.node_name(index) for index in range(NODES)]
    (directory / "filter").write_bytes(event("filter", cluster.pod_manifest(0), names))
    with dynamodb_over_http(contents) as url:
        variables = _variables(url)
        certificate, _ = self_signed(directory, "cluster")
        eks = {
            "BERTH_EKS_CLUSTER": "cluster",
            "BERTH_EKS_ENDPOINT": SERVER,
            "BERTH_EKS_CERTIFICATE_AUTHORITY": b64encode(certificate.read_bytes()).decode(),
            "BERTH_EKS_REGION": "eu-central-1",
        }
        kubeconfig = {"BERTH_KUBECONFIG": str(kubeconfig_for(SERVER, directory))}
        filter_ = partial(_seconds, "-c", FUNCTION, *_arguments("filter", directory))
        bind = partial(_seconds, "-c", FUNCTION, *_arguments("bind", directory))
        measured: dict[str, Callable[[], float]] = {
            "floor": partial(_seconds, "-c", FLOOR, variables=variables),
            "filter": partial(filter_, variables=variables),
            "filter_full": partial(filter_, variables={**variables, "BERTH_CONFIGURATION": '{"profile": "full"}'}),
            "bind": partial(bind, variables={**variables, **kubeconfig}),
            "bind_eks": partial(bind, variables={**variables, **eks}),
        }
        taken = {name: [measure()] for name, measure in measured.items()}
        for _ in range(runs - 1):
            for name, measure in measured.items():
                taken[name].append(measure())
    least = {name: min(times) for name, times in taken.items()}
    yield Figure("cold.floor", least["floor"] * 1000, "ms")
    yield Figure("cold.filter_full", least["filter_full"] * 1000, "ms", FULL_TARGET_MS)
    yield Figure("cold.filter_full.ratio", least["filter_full"] / least["floor"], "x")
    for function, target in (("filter", FILTER_TARGET), ("bind", BIND_TARGET), ("bind_eks", BIND_TARGET)):
        yield Figure(f"cold.{function}", least[function] * 1000, "ms")
        yield Figure(f"cold.{function}.ratio", least[function] / least["floor"], "x", target)


def _arguments(function: str, directory: Path) -> tuple[str, str]:
    return str(PROJECT / "functions" / function / "app.py"), str(directory / function)


def _variables(url: str) -> Mapping[str, str]:
    from tests.bench.functions import ENVIRONMENT

    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BERTH_"))}
    return (
        inherited
        | ENVIRONMENT
        | {
            "AWS_ENDPOINT_URL_DYNAMODB": url,
            "BERTH_CACHE_TABLE": CACHE_TABLE,
            "BERTH_LEDGER_TABLE": LEDGER_TABLE,
            "BERTH_CONFIGURATION": '{"profile": "label-priority"}',
        }
    )


def _seconds(*command: str, variables: Mapping[str, str]) -> float:
    run = subprocess.run(
        [sys.executable, *command], cwd=PROJECT, env=variables, check=True, capture_output=True, text=True
    )
    return float((run.stderr or run.stdout).split()[-1])


@contextmanager
def dynamodb_over_http(contents: Contents) -> Iterator[str]:
    """Yield the URL of a server with the tables of a stack whose watcher has just published these contents."""
    from botocore.awsrequest import AWSPreparedRequest
    from moto.core.botocore_stubber import BotocoreStubber

    moto, lock = cast(Any, BotocoreStubber()), Lock()
    moto.enabled = True
    _publish(contents, moto)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent: Any = AWSPreparedRequest("POST", ADDRESS, cast(Any, self.headers), body, stream_output=False)
            with lock:
                answer = moto(f"before-send.dynamodb.{self.headers['X-Amz-Target']}", sent)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _publish(contents: Contents, moto: Any) -> None:
    from botocore.session import Session

    from berth.lease.clock import SystemClock
    from berth.lease.config import LeaderElectionConfig
    from berth.lease.dynamodb_lock import DynamoDBLeaseLock
    from berth.lease.elector import LeaderElector
    from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
    from tests.bench.functions import pointer_to, put
    from tests.builders.tables import create_cache_table, create_ledger_table

    session = Session()
    session.set_credentials("none", "none")
    session.register("before-send.dynamodb", moto)
    client: Any = session.create_client("dynamodb", region_name="eu-central-1")
    create_cache_table(client, CACHE_TABLE)
    create_ledger_table(client, LEDGER_TABLE)
    elector = LeaderElector(
        DynamoDBLeaseLock(client, CACHE_TABLE), LeaderElectionConfig(), "bench", SystemClock(), random.random
    )
    elector.step()
    fence = elector.fence()
    assert fence is not None
    table, now = DynamoDBCacheTable(client, CACHE_TABLE), time.time()
    put(table, contents, fence.uid, now)
    table.publish(pointer_to(contents, now), fence, now, "bench")
