"""The extenders of the cases as running servers, and how the scheduler is told of them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from signal import SIGINT
from socket import create_connection
from typing import Any

from berth.scheduling.plugins import node_affinity, node_priority_label
from tests.bench.scheduler.cases import Case, Extender
from tests.bench.scheduler.null import REJECTED
from tests.bench.scheduler.workload import COUNTED, COUNTED_NODES, node_manifest
from tests.e2e.berth.berth_serve import BerthServe
from tests.e2e.berth.endpoint import Endpoint
from tests.e2e.berth.identities import serve
from tests.e2e.berth.label_priority import LABEL
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.loopback import HOST, free_port
from tests.e2e.kubernetes.scheduler_configuration import ExtenderConfiguration, Mode

BINARY = Path(__file__).parents[3] / ".build" / "bench-extender"
DOCUMENTS = {
    Extender.BERTH: "profile: label-priority",
    Extender.BERTH_ONLYONE: "profile: label-priority",
    Extender.BERTH_FULL: "profile: full",
    Extender.BERTH_COUNTED: f"profile: managed-resources\nmanagedResources:\n  - name: {COUNTED}",
    Extender.BERTH_RULES: "profile: full",
}
WITH_AFFINITY = """\
definitions:
  with-affinity:
    extends: label-priority
    plugins:
      enabled:
        - name: NodeAffinity
profile: with-affinity"""
"""For pods that are pending on Berth's reasons: the scheduler's own NodeAffinity is switched off then."""

START_SECONDS = 60
LEDGER_SECONDS = 90
POLL_SECONDS = 0.2
READY_ROUNDS = 5


class Servers:
    """Starts what a case needs, on nodes that exist."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._control_plane = control_plane
        self._directory = directory
        self._started = 0

    @contextmanager
    def of(self, case: Case, nodes: int) -> Iterator[tuple[list[ExtenderConfiguration], Path]]:
        """Until the block ends: what the scheduler calls, and the file of what the ledger did."""
        self._started += 1
        folder = self._directory / f"{self._started}-{case.name}"
        folder.mkdir()
        counts = folder / "ledger.json"
        with ExitStack() as running:
            url = self._url(case, nodes, counts, running)
            if url and case.delay is not None:
                url = self._delayed(url, case.delay, folder, running)
            yield [_configuration(case, url)] if url else [], counts

    def _url(self, case: Case, nodes: int, counts: Path, running: ExitStack) -> str:
        folder = counts.parent
        names = [node_manifest(index)["metadata"] for index in range(nodes)]
        labelled = {each["name"]: int(each["labels"][LABEL]) for each in names if LABEL in each["labels"]}
        match case.extender:
            case Extender.NONE:
                return ""
            case Extender.NULL | Extender.NULL_ONLYONE:
                return self._null(labelled, [each["name"] for each in names], folder, running)
            case Extender.GO_FULL:
                address = f"{HOST}:{free_port()}"
                _run([BINARY, "full", address, LABEL], address, folder / "go.log", running)
                return f"http://{address}"
            case Extender.BERTH_COUNTED:
                return self._counted(folder, running)
            case _:
                document = _document(WITH_AFFINITY if case.pending else DOCUMENTS[case.extender])
                options: dict[str, Any] = {"command": _counting(counts)} if case.extender.binds else {}
                berth = _started(serve(self._control_plane, folder, document=document, **options), running)
                # full rejects no node of an empty cluster.
                full = case.extender in (Extender.BERTH_FULL, Extender.BERTH_RULES)
                passed = {each["name"] for each in names} if full else set(labelled)
                _wait_for_nodes(berth.url_prefix, case, [each["name"] for each in names], passed)
                return berth.url_prefix

    def _null(self, labelled: Mapping[str, int], names: Sequence[str], folder: Path, running: ExitStack) -> str:
        answers = folder / "answers"
        answers.mkdir()
        for verb, those in null_answers(labelled, names).items():
            (answers / verb).write_text("".join(json.dumps(each) + "\n" for each in those))
        port = free_port()
        command: list[str | Path] = [sys.executable, "-m", "tests.bench.scheduler.null", str(port), answers]
        _run(command, f"{HOST}:{port}", folder / "null.log", running)
        return f"http://{HOST}:{port}/scheduler"

    def _counted(self, folder: Path, running: ExitStack) -> str:
        counts = folder / "ledger.json"
        document = _document(DOCUMENTS[Extender.BERTH_COUNTED])
        # It is stopped, not killed: it gives the Lease of its ledger up, and the next run need not wait for that.
        berth = running.enter_context(
            serve(self._control_plane, folder, document=document, command=_counting(counts), is_healthy=False)
        )
        until = time.monotonic() + LEDGER_SECONDS
        while _ledgers(counts) < COUNTED_NODES:
            if time.monotonic() > until:
                raise TimeoutError(f"after {LEDGER_SECONDS} s there are {_ledgers(counts)} ledgers: {folder}")
            time.sleep(POLL_SECONDS)
        return berth.url_prefix

    def _delayed(self, url: str, milliseconds: int, folder: Path, running: ExitStack) -> str:
        origin, _, path = url.rpartition("/")
        address = f"{HOST}:{free_port()}"
        _run([BINARY, "delay", address, origin, f"{milliseconds}ms"], address, folder / "delay.log", running)
        return f"http://{address}/{path}"


def _configuration(case: Case, url: str) -> ExtenderConfiguration:
    return ExtenderConfiguration(
        url_prefix=url,
        filter_verb="filter_onlyone" if case.extender.passes_one else "filter",
        prioritize_verb=None if case.extender.passes_one else "prioritize",
        bind_verb="bind" if case.extender.binds else None,
        mode=Mode.FULL if case.extender is Extender.GO_FULL else Mode.CACHE,
        managed_resources=(COUNTED,) if case.extender is Extender.BERTH_COUNTED else (),
        # The Go extender answers late rather than never on a busy machine.
        http_timeout="30s",
    )


def _counting(counts: Path) -> tuple[str | Path, ...]:
    return sys.executable, "-m", "tests.bench.scheduler.counted_serve", counts


def _document(rest: str) -> str:
    return f"apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n{rest}\n"


def null_answers(labelled: Mapping[str, int], names: Sequence[str]) -> Mapping[str, list[object]]:
    """The answers of each verb, by turns: those of Berth under label-priority, and for a pod that it rejects.

    labelled: by name, the priorities of nodes that have one.
    """
    no_label = node_priority_label.REASON_NO_LABEL.format(LABEL)
    rejected = {name: no_label for name in names if name not in labelled}
    best = [name for name, score in labelled.items() if score == max(labelled.values())]
    return {
        "filter": [_filtered(list(labelled), rejected)],
        "filter_onlyone": [_filtered([name], rejected) for name in best],
        "prioritize": [[{"Host": name, "Score": score} for name, score in labelled.items()]],
        REJECTED: [_filtered([], rejected | dict.fromkeys(labelled, node_affinity.REASON_POD))],
    }


def _filtered(names: list[str], rejected: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Nodes": None,
        "NodeNames": names,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": rejected,
        "Error": "",
    }


def _started(berth: BerthServe, running: ExitStack) -> BerthServe:
    """It ends at once, whatever calls the scheduler has left: on a busy machine a clean end takes long."""
    running.enter_context(berth)
    running.callback(berth.kill)
    return berth


def _run(command: list[str | Path], address: str, log: Path, running: ExitStack) -> None:
    process = ChildProcess(command, log)
    running.callback(process.stop, SIGINT)
    process.wait_until(partial(_listens, address), seconds=START_SECONDS)


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _wait_for_nodes(url: str, case: Case, names: list[str], passed: set[str]) -> None:
    """Until Berth has read the cluster; and a few calls more, as an extender that has run for long has had."""
    endpoint, probe = Endpoint(url), {"metadata": {"name": "probe", "namespace": "default", "uid": "probe"}, "spec": {}}
    body = json.dumps({"Pod": probe, "Nodes": None, "NodeNames": names}).encode()
    until, rounds = time.monotonic() + START_SECONDS, 0
    while rounds < READY_ROUNDS:
        answer = endpoint.post("filter", body)
        if answer.status == 200 and set(answer.json().get("NodeNames") or ()) == passed:
            rounds += 1
        elif time.monotonic() > until:
            raise TimeoutError(f"{case.name} does not pass the nodes: {answer.status} {answer.data[:300]!r}")
        else:
            time.sleep(POLL_SECONDS)


def _ledgers(counts: Path) -> int:
    return int(json.loads(counts.read_text())["ledgers"]) if counts.exists() else 0
