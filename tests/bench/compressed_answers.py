"""`python -m tests.bench.compressed_answers`: what compressed answers cost and save, end to end with Go's client.

The client reads as kube-scheduler does. The function runs as in Lambda, behind the gateway of `berth serve` on
loopback: so the times have the work of both sides, and nothing of a network. Processor time is that of the function and
its gateway. Log lines and metrics go to standard output unless the variables of Powertools turn them off.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any
from unittest import mock

from berth.extender import filter as filtering
from berth.extender import prioritize
from berth.extender.reply import Reply
from berth.runtime.http import answers
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.objects import NodeInfo
from berth_cli.http_server import server
from berth_cli.serve.gateway import Gateway
from tests.builders.nodes import labelled, node
from tests.builders.requests import body_of, cache_mode
from tests.fakes.verbs import Verbs

CLIENT = Path(__file__).with_name("answer_client")
IN_LAMBDA = EndpointSettings.from_environ({"AWS_LAMBDA_FUNCTION_NAME": "bench", "BERTH_AUTHENTICATION": "basic"})
SIZES = (1000, 5000)
LEVELS = (1, 2, 4, 6, 9)
CALLS = 50
COLUMNS = ("nodes", "verb", "encoding", "bytes", "p50 ms", "p95 ms", "connections", "processor ms")


def main() -> None:
    """Print a line for each verb, size and level."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        subprocess.run(["go", "build", "-o", directory / "client", "."], cwd=CLIENT, check=True)
        print(*(f"{column:>12}" for column in COLUMNS))
        for nodes in SIZES:
            for verb, encoding, figures in _figures(directory, nodes):
                print(*(f"{value:>12}" for value in (nodes, verb, encoding, *figures)), flush=True)


def _figures(directory: Path, count: int) -> Iterator[tuple[str, str, list[str]]]:
    names = [f"ip-10-{i % 256}-{i // 256}-{i * 7 % 256}.eu-central-1.compute.internal" for i in range(count)]
    (directory / "request.json").write_text(body_of(cache_mode(names)))
    cache = Verbs(_nodes(names)).cache
    verbs: Mapping[str, tuple[Callable[..., Reply], Callable[..., Reply]]] = {
        "filter": (filtering.answer_filter, filtering.failed),
        "prioritize": (prioritize.answer_prioritize, prioritize.failed),
    }
    for verb, (answer, failed) in verbs.items():
        endpoint = VerbEndpoint(verb, IN_LAMBDA, partial(answer, cache=cache), failed)
        yield verb, "identity", _called(directory, verb, endpoint, "identity")
        for level in LEVELS:
            with mock.patch.object(answers, "GZIP_LEVEL", level):
                yield verb, f"gzip {level}", _called(directory, verb, endpoint, "gzip")


def _nodes(names: list[str]) -> list[NodeInfo]:
    """Every second one has no label, so filter rejects it with a reason."""
    return [labelled(name, str(index % 100)) if index % 2 else node(name) for index, name in enumerate(names)]


def _called(directory: Path, verb: str, endpoint: VerbEndpoint, encoding: str) -> list[str]:
    """What the client prints, and the processor time of a call."""

    def handler(event: Mapping[str, object], _: object) -> Any:
        return endpoint.handle(event)

    listener = server.listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    with server.serve_in_thread(Gateway({f"POST /scheduler/{verb}": handler}), listener):
        url = f"http://127.0.0.1:{port}/scheduler/{verb}"
        command = [str(directory / "client"), url, str(CALLS), str(directory / "request.json"), encoding]
        before = process_time()
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [*printed.split(), f"{(process_time() - before) * 1000 / CALLS:.3f}"]


if __name__ == "__main__":
    main()
