"""`berth serve` in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import orjson
import pytest
import yaml
from botocore.exceptions import BotoCoreError
from click.testing import CliRunner, Result

from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth_cli.main import main
from berth_cli.server import local_stack
from tests.builders.event_fixtures import EVENTS
from tests.builders.http_calls import Caller
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import labelled_object, node_object, node_with
from tests.builders.pods import pod_object, pod_with
from tests.builders.requests import binding, body_of, cache_mode
from tests.builders.tables import create_cache_table, create_ledger_table
from tests.conftest import CLUSTER
from tests.fakes.api_server import KubernetesOnLoopback, verified_kubernetes
from tests.unit.ledger.nodes.ledger_tables import emulator_client

from .serving import Served, calling, eventually, serving, start

pytestmark = pytest.mark.long
"""A server in a process of its own."""

PATIENCE = 60
"""Timeout in seconds of expected events; reached only by failing tests and on stalled machines."""


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "cluster.yaml"
    path.write_bytes((EVENTS / "cluster.yaml").read_bytes())
    return path


@pytest.fixture(scope="module")
def served(dump: Path) -> Iterator[Served]:
    with serving("--cluster", str(dump), "--port", "0") as served:
        yield served


@pytest.fixture
def caller(served: Served) -> Iterator[Caller]:
    with calling(served) as caller:
        yield caller


def test_prints_profile_cluster_and_health_address(served: Served, dump: Path) -> None:
    assert served.profile == "label-priority"
    assert served.second_line == (
        f"cluster: {dump}, 4 nodes, read again when it changes; "
        f"health: http://127.0.0.1:{served.port}/healthz; Ctrl-C stops\n"
    )


def test_edited_dump_takes_effect_within_two_seconds(caller: Caller, dump: Path) -> None:
    """The dump is edited twice: the second edit comes right after a list, and has to wait for the next list."""
    before = dump.read_text()

    def score(value: int) -> bool:
        found: list[dict[str, object]] = caller.post("/scheduler/prioritize", body_of(cache_mode(["plain"]))).json
        return found == [{"Host": "plain", "Score": value}]

    assert score(0)
    for value in (5, 6):
        label = f'hostname: plain\n        priority.lixueduan.com: "{value}"'
        dump.write_text(before.replace("hostname: plain", label))
        assert eventually(partial(score, value), 10) < 2


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_sighup_stop_the_server_as_ctrl_c_does(by: signal.Signals, dump: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    before = signal.signal(by, signal.SIG_DFL)  # under nohup, SIGHUP is ignored, also by children
    try:
        served = start("--cluster", str(dump), "--port", "0", "--record", str(recording))
    finally:
        signal.signal(by, before)
    assert served.ctrl_c(by) == (0, "stopped\n", "")


def test_server_stops_if_the_reader_of_its_output_is_gone(dump: Path) -> None:
    """The program that started the server is gone, so calls could not write their log lines."""
    served = start("--cluster", str(dump), "--port", "0")
    assert served.process.stdout is not None
    served.process.stdout.close()
    assert served.process.wait(PATIENCE) == 0


def test_server_uses_its_configuration_and_stops_despite_idle_connections(dump: Path, tmp_path: Path) -> None:
    config = tmp_path / "berth.yaml"
    config.write_text(
        "kind: BerthConfiguration\npluginConfig:\n- name: NodePriorityLabel\n  args: {label: example.com/rank}\n"
    )
    served = start("--cluster", str(dump), "--port", "0", "--config", str(config))
    callers = [Caller(served.port) for _ in range(3)]
    for caller in callers:
        answer = caller.post("/scheduler/filter", body_of(cache_mode(["n10"]))).json
        assert answer["FailedAndUnresolvableNodes"] == {
            "n10": "node(s) didn't have the priority label example.com/rank"
        }
    assert served.ctrl_c() == (0, "stopped\n", "")
    for caller in callers:
        caller.close()


def test_every_verb_uses_an_edited_configuration_immediately(tmp_path: Path) -> None:
    """bind has already read the previous document. In a stack, bind would not read the tables again for 10 s."""
    apart = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    pods = [pod_with("web-0"), *(pod_with(name, {"app": "db"}, affinity=affinity) for name in ("db-0", "db-1"))]
    nodes = [node_with("a", {"kubernetes.io/hostname": "a"})]
    cluster, config = tmp_path / "cluster.yaml", tmp_path / "berth.yaml"
    cluster.write_text(yaml.safe_dump({"kind": "List", "items": [*nodes, *pods]}))
    config.write_text("profile: label-priority\n")

    def passes() -> bool:
        found: list[str] = own.post("/scheduler/filter", body_of(cache_mode(["a"], pods[1]))).json["NodeNames"]
        return found == ["a"]

    def bound(name: str) -> str:
        request = binding(name, "default", f"uid-{name}", "a")
        found: dict[str, str] = own.post("/scheduler/bind", body_of(request)).json
        return found["Error"]

    options = [f"--cluster={cluster}", "--port=0", f"--config={config}", "--scheduler-name=default-scheduler"]
    with serving(*options) as other, calling(other) as own:
        assert not passes()
        assert bound("web-0") == ""
        config.write_text("profile: full\n")
        eventually(passes, PATIENCE)
        assert [bound("db-0"), bound("db-1")] == ["", "node(s) didn't match pod anti-affinity rules"]


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes = [labelled_object("n10", "10"), node_object("plain")]
        kubernetes.add_pod("train-0", "uid-train-0")
        yield kubernetes


def test_serves_a_live_cluster_and_binds_and_wakes_its_pods(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    served = start("--kubeconfig", str(kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)), "--port", "0")
    caller = Caller(served.port)
    request = body_of(cache_mode(["n10", "plain"]))
    assert caller.post("/scheduler/filter", request).json["NodeNames"] == ["n10"]
    assert caller.post("/scheduler/bind", body_of(binding())).json == {"Error": ""}
    assert kubernetes.node_of("train-0") == "n10"

    def woken() -> int:
        return len([received for received in kubernetes.requests if received.method == "PATCH"])

    kubernetes.add_rejected_pod("waiting", "node(s) didn't have the priority label priority.lixueduan.com")
    before = woken()
    kubernetes.nodes = [labelled_object("n10", "10"), labelled_object("plain", "5")]
    eventually(lambda: caller.post("/scheduler/filter", request).json["NodeNames"] == ["n10", "plain"], PATIENCE)
    eventually(lambda: woken() > before, PATIENCE)
    caller.close()
    assert served.ctrl_c() == (0, "stopped\n", "")


@pytest.mark.external
def test_servers_with_the_same_tables_share_a_node_cache(tmp_path: Path, endpoint_url: str) -> None:
    client = emulator_client(endpoint_url)
    create_cache_table(client, "serve-cache")
    create_ledger_table(client, "serve-ledger")
    account = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    store = ["--store=dynamodb", "--cache-table=serve-cache", "--ledger-table=serve-ledger", "--region=eu-central-1"]
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes = [labelled_object("n10", "10")]
        file = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        arguments = [f"--kubeconfig={file}", "--port=0", *store, f"--endpoint-url={endpoint_url}"]
        first = start(*arguments, variables=account)
        found = DynamoDBCacheTable(client, "serve-cache").head()
        second = start(*arguments, variables=account)
        caller = Caller(second.port)
        assert caller.post("/scheduler/filter", body_of(cache_mode(["n10"]))).json["NodeNames"] == ["n10"]
        caller.close()
    now = DynamoDBCacheTable(client, "serve-cache").head()
    assert found is not None
    assert now is not None
    assert found.uid == now.uid, "one head is shared"
    for served in (second, first):
        assert served.third_line.startswith("store: the DynamoDB tables serve-cache and serve-ledger at http://")
        served.process.kill()
        served.process.communicate()


def test_starts_while_live_cluster_is_unreachable(tmp_path: Path) -> None:
    with verified_kubernetes() as gone:
        host = gone.host
    with serving(f"--kubeconfig={kubeconfig_for(host, tmp_path)}", "--port=0") as served, calling(served) as caller:
        assert caller.request("GET", "/healthz").status == 503
        assert caller.post("/scheduler/filter", body_of(cache_mode(["n10"]))).json["Error"] != ""


# With --record and --decisions-file, in a process of its own, and `berth policy diff` on the recording.

NAMES = ["n10", "n20", "plain", "worded", "unknown"]


def play(folder: Path, *arguments: str) -> None:
    """Call a server on a copy of events/cluster.yaml, write its metrics to the file `metrics`, and press Ctrl-C."""
    dump = folder / "cluster.yaml"
    dump.write_bytes(CLUSTER.read_bytes())
    served = start("--cluster", str(dump), "--port", "0", *arguments)
    try:
        caller = Caller(served.port)
        for number in range(20):
            verb = ("filter", "prioritize", "filter_onlyone")[number % 3]
            names = [*NAMES[number % 5 :], *NAMES[: number % 5]]
            caller.post(f"/scheduler/{verb}", body_of(cache_mode(names, pod_object(f"p{number}"))))
        caller.post("/scheduler/bind", body_of(binding()))
        (folder / "metrics").write_bytes(caller.request("GET", "/metrics").content)
        caller.close()
        status, _, errors = served.ctrl_c()
    finally:
        served.process.kill()
    assert status == 0, errors


def test_replay_repeats_every_decision_of_a_server(tmp_path: Path) -> None:
    path, configuration = tmp_path / "r", tmp_path / "berth.yaml"
    configuration.write_text("profile: label-priority\n")
    play(tmp_path, "--config", str(configuration), "--record", str(path))
    assert 'berth_recorded_decisions_total{result="dropped"} 0.0\n' in (tmp_path / "metrics").read_text()
    command = ["policy", "diff", *[str(configuration)] * 2, "--recording", str(path)]
    done = CliRunner().invoke(main, command, prog_name="berth")
    assert done.exit_code == 0, done.output
    # The other pods have no filter call, only prioritize.
    assert f"{path}: 13 pods judged on the recorded states, 20 decisions of the old policy made again, 0 differ" in (
        done.stdout
    )
    assert "0 newly pending, 0 moved, 0 newly placed" in done.stdout


def test_decisions_are_written_to_the_configured_file(tmp_path: Path) -> None:
    configuration, file = tmp_path / "berth.yaml", tmp_path / "decisions"
    configuration.write_text("decisions: file\n")
    play(tmp_path, "--config", str(configuration), "--decisions-file", str(file))
    lines = [orjson.loads(line) for line in file.read_text().splitlines()]
    found = [line for line in lines if "verb" in line]
    assert [each["verb"] for each in found][:3] == ["filter", "prioritize", "filter_onlyone"]
    assert len(found) == 21
    first, names = found[0], next(line["nodeNames"] for line in lines if "nodeNames" in line)
    bits = int(first["reasons"][0]["bitmap"], 16)
    assert [name for at, name in enumerate(names) if bits >> at & 1][:3] == first["reasons"][0]["nodes"]


# `berth serve` with options, files and ports that it cannot use: it prints the problem in one line and exits.

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
def test_invalid_options_print_one_line_of_error(arguments: str, complaint: str) -> None:
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
