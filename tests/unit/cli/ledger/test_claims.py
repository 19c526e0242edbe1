"""Claims of pods compared with the ledger's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import orjson
import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.nodecache.feed.cluster import Added
from berth.runtime.adapters import cache_adapters
from berth.runtime.cluster_settings import WatcherMode, WatcherSettings
from berth.runtime.settings import PolicySettings
from berth.runtime.watcher.watcher_run import Invocation, RunLimit, WatcherRun
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.objects.projection import compact_pod
from berth_cli.ledger.claims import Claims, NotRead, claim_sources, diverging_claims
from berth_cli.ledger.reservations import cells, document
from tests.builders.tables import create_cache_table
from tests.unit.runtime.watcher.scripted_connection import ScriptedConnection

TABLE = "claims"
SEAT = "example.com/seat"
DOCUMENT = {"profile": "managed-resources", "managedResources": [{"name": SEAT, "requests": {"podAnnotation": SEAT}}]}


@pytest.fixture
def table(dynamodb: DynamoDBClient) -> Iterator[str]:
    create_cache_table(dynamodb, TABLE)
    yield TABLE
    dynamodb.delete_table(TableName=TABLE)


def published(
    dynamodb: DynamoDBClient, annotations: Mapping[str, Mapping[str, str]], document: Mapping[str, object] = DOCUMENT
) -> None:
    """Publish a node cache with a pod for each name, on node-a, with these annotations."""
    store = DynamoDBConfigurationStore(dynamodb, TABLE)
    store.apply(orjson.dumps(document).decode())
    adapters = cache_adapters(PolicySettings(cache_table=TABLE))
    connection = ScriptedConnection("node-a")
    for name, given in annotations.items():
        metadata = {"namespace": "ml", "name": name, "uid": f"uid-{name}", "annotations": given}
        pod = compact_pod({"metadata": metadata, "spec": {"nodeName": "node-a"}}, (SEAT,))
        connection.scripted.send("pods", Added(pod, "2"))
    environ = {"BERTH_CACHE_TABLE": TABLE, "BERTH_KUBECONFIG": "unused", "BERTH_WATCHER_MODE": "periodic"}
    invocation = Invocation(WatcherSettings.from_environ(environ), WatcherMode.PERIODIC, RunLimit(lambda: 60.0))
    WatcherRun(invocation, adapters, connection).execute(adapters.configurations.at(""), lambda: False)


def entry(name: str, units: int) -> Entry:
    return Entry(PodKey("ml", name, f"uid-{name}"), EntryState.BOUND, f"attempt-{name}", {SEAT: units}, 0.0)


def test_marks_reservation_whose_pod_claims_another_amount(dynamodb: DynamoDBClient, table: str) -> None:
    published(dynamodb, {"honest": {SEAT: "3"}, "lowered": {SEAT: "1"}, "removed": {}})
    held = [entry(name, 3) for name in ("honest", "lowered", "removed", "unpublished")]
    ledgers = [new_ledger("node-a", {SEAT: 20}, {each.pod.uid: each for each in held}, 1)]

    claims = diverging_claims(claim_sources(dynamodb, table), ledgers)

    assert claims == Claims({("node-a", "uid-lowered"): {SEAT: 1}, ("node-a", "uid-removed"): {}}, (SEAT,))
    reservations = document(ledgers, (), 0.0, claims)["reservations"]
    assert isinstance(reservations, list)
    lines = {each["pod"]: "  ".join(cells(each, 0.0)) for each in reservations}
    assert f"3 {SEAT}  1 {SEAT}" in lines["ml/lowered"]
    assert f"3 {SEAT}  nothing" in lines["ml/removed"]
    assert "DIVERGED" in lines["ml/lowered"]
    assert "DIVERGED" not in lines["ml/honest"]
    assert {each["pod"]: (each["diverged"], each["claims"]) for each in reservations} == {
        "ml/honest": (False, None),
        "ml/lowered": (True, {SEAT: 1}),
        "ml/removed": (True, {}),
        "ml/unpublished": (False, None),
    }


def test_reports_why_claims_were_not_compared(dynamodb: DynamoDBClient, table: str) -> None:
    assert diverging_claims(claim_sources(dynamodb, table), ()) == NotRead("the configuration in force counts nothing")
    absent = diverging_claims(claim_sources(dynamodb, "absent"), ())
    assert isinstance(absent, NotRead)
    assert "table" in absent.cause


def test_compares_the_entry_of_a_floating_pool_with_the_claim_of_its_pod(dynamodb: DynamoDBClient, table: str) -> None:
    floating = {**DOCUMENT["managedResources"][0], "capacity": {"value": 20, "scope": "cluster"}}  # type: ignore[dict-item]
    published(dynamodb, {"honest": {SEAT: "3"}, "lowered": {SEAT: "1"}}, {**DOCUMENT, "managedResources": [floating]})
    pool = f"{SEAT}@cluster"
    held = {f"uid-{name}": replace(entry(name, 3), shares={pool: 3}) for name in ("honest", "lowered")}

    claims = diverging_claims(claim_sources(dynamodb, table), [new_ledger(pool, {pool: 20}, held, 1)])

    assert claims == Claims({(pool, "uid-lowered"): {pool: 1}}, (SEAT,))
