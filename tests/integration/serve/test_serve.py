"""`berth serve` in a process of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from tests.builders.event_fixtures import EVENTS
from tests.builders.http_calls import Caller
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import labelled_object, node_object, node_with
from tests.builders.pods import pod_with
from tests.builders.requests import binding, body_of, cache_mode
from tests.builders.tables import create_cache_table, create_ledger_table
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


def test_prints_profile_cluster_addresses_and_store(served: Served, dump: Path) -> None:
    assert served.profile == "label-priority"
    assert served.second_line == (
        f"cluster: {dump}, 4 nodes, read again when it changes; "
        f"health: http://127.0.0.1:{served.port}/healthz; Ctrl-C stops\n"
    )


def test_edited_dump_takes_effect_within_two_seconds(caller: Caller, dump: Path) -> None:
    """Twice: the second edit comes right after a list, and has to wait for the next."""
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
    """The program that has started it is gone. Calls would fail to write their log lines."""
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
    """bind has read the document before, and would not read the tables of a stack again for 10 s."""
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


def test_live_cluster_is_watched_bound_and_woken(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
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
