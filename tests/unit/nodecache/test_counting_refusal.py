"""Refusal in the head because another store counts: filter and the health check apply it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import Configurations
from berth.dynamodb import HEAD_KEY
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.filter import answer_filter
from berth.extender.outcomes import FailureOutcome, FilterOutcome
from berth.extender.ports import DecisionContext
from berth.lease.clock import SystemClock
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.health import HealthOutcome, health
from berth.nodecache.warm_node_cache import StalenessReason
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from tests.builders.nodes import node_with
from tests.builders.pods import pod_object
from tests.builders.tables import create_cache_table
from tests.fakes.node_cache import FixedNodeCache

SEAT, TABLE, REFUSAL = "example.com/seat", "counting-refusal", "counted by store-2"
COUNTS = BerthConfiguration.model_validate({"profile": "managed-resources", "managedResources": [{"name": SEAT}]})
COUNTS_NOTHING = BerthConfiguration()


class _Refused(FixedNodeCache):
    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        found = super().current(deadline, reads)
        return DecisionContext(found.policy, found.cluster, REFUSAL)


@pytest.fixture
def table(dynamodb: DynamoDBClient) -> Iterator[DynamoDBCacheTable]:
    create_cache_table(dynamodb, TABLE)
    yield DynamoDBCacheTable(dynamodb, TABLE)
    dynamodb.delete_table(TableName=TABLE)


@pytest.mark.parametrize("nodes", [pytest.param(False, id="names"), pytest.param(True, id="whole nodes")])
@pytest.mark.parametrize(
    ("requests", "outcome", "error"),
    [
        pytest.param({SEAT: "1"}, FailureOutcome.COUNTED_ELSEWHERE, REFUSAL, id="pod that requests a counted resource"),
        pytest.param({"cpu": "1"}, FilterOutcome.FEASIBLE, "", id="another pod"),
    ],
)
def test_filter_refuses_only_pods_that_request_counted_resources(
    requests: dict[str, str], outcome: FailureOutcome | FilterOutcome, error: str, *, nodes: bool
) -> None:
    node = node_with("n1", allocatable={SEAT: "1", "cpu": "4"})
    pod = pod_object("web", "ml", "uid-1", requests=requests)
    request = {"Pod": pod, "Nodes": {"items": [node]}} if nodes else {"Pod": pod, "NodeNames": ["n1"]}
    answer = answer_filter(json.dumps(request), _Refused.of(COUNTS, {"kind": "Node", **node}))
    assert (answer.outcome, json.loads(answer.body)["Error"]) == (outcome, error)


def test_head_contains_the_refusal_until_this_store_counts(dynamodb: DynamoDBClient, table: DynamoDBCacheTable) -> None:
    dynamodb.put_item(TableName=TABLE, Item=HEAD_KEY)
    for reason in (REFUSAL, ""):
        table.put_counting_refusal(reason)
        head = table.head()
        assert head is not None
        assert head.counting_refusal == reason


def test_refusal_does_not_create_a_head(table: DynamoDBCacheTable) -> None:
    table.put_counting_refusal(REFUSAL)
    assert table.head() is None


@pytest.mark.parametrize(
    ("configuration", "outcome"),
    [
        pytest.param(COUNTS, HealthOutcome.COUNTED_ELSEWHERE, id="counts"),
        pytest.param(COUNTS_NOTHING, HealthOutcome.UNAVAILABLE, id="counts nothing"),
    ],
)
def test_health_check_fails_only_if_the_configuration_in_force_counts(
    dynamodb: DynamoDBClient, table: DynamoDBCacheTable, configuration: BerthConfiguration, outcome: HealthOutcome
) -> None:
    dynamodb.put_item(TableName=TABLE, Item=HEAD_KEY)
    table.put_counting_refusal(REFUSAL)
    configurations = Configurations(DynamoDBConfigurationStore(dynamodb, TABLE), lambda: configuration)
    clock = SystemClock()
    found, report = health(table, configurations, clock, StalenessReason(clock))
    assert found is outcome
    assert (report["reason"] == REFUSAL) is (outcome is HealthOutcome.COUNTED_ELSEWHERE)
