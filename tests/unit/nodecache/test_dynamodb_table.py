"""What the cache table does on DynamoDB alone: its requests, and what each of its errors becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import boto3
import pytest
from botocore.config import Config
from botocore.stub import ANY, Stubber
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.nodecache.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.head import SnapshotPointer
from berth.nodecache.table import TableUnavailable
from tests.builders.heads import head

HEAD_KEY = {"pk": {"S": "head"}, "sk": {"N": "0"}}
REMEDIES = [
    (
        "ResourceNotFoundException",
        "the table does not exist; deploy the stack, or set BERTH_CACHE_TABLE to its table",
    ),
    ("AccessDeniedException", "the function's role lacks a permission on the table"),
    ("ProvisionedThroughputExceededException", "the table is throttled"),
    ("ThrottlingException", "the table is throttled"),
    ("UnrecognizedClientException", "the AWS credentials are not valid"),
    ("ExpiredTokenException", "the AWS credentials have expired"),
]

Use = Callable[[DynamoDBCacheTable], object]
USES = [
    pytest.param("get_item", lambda table: table.head(), id="head"),
    pytest.param("put_item", lambda table: table.publish(head(), None), id="first publication"),
    pytest.param("put_item", lambda table: table.publish(head(2), 1), id="publication"),
    pytest.param("put_item", lambda table: table.put_chunks("s", [b"0"], 0), id="put_chunks"),
    pytest.param("get_item", lambda table: table.chunks(SnapshotPointer("s", 1)), id="one chunk"),
]


@pytest.fixture(scope="module")
def session() -> boto3.session.Session:
    """One of its own: the default one may belong to an embedded DynamoDB by now."""
    return boto3.session.Session(
        aws_access_key_id="test", aws_secret_access_key="test", aws_session_token="test", region_name="eu-central-1"
    )


@pytest.fixture
def client(session: boto3.session.Session) -> DynamoDBClient:
    """A client that finds nobody at its endpoint."""
    config = Config(retries={"total_max_attempts": 1, "mode": "standard"}, connect_timeout=1, read_timeout=1)
    client: DynamoDBClient = session.client("dynamodb", config=config, endpoint_url="http://127.0.0.1:9")
    return client


@pytest.fixture
def dynamodb(client: DynamoDBClient) -> Iterator[Stubber]:
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def test_the_head_is_read_consistently(client: DynamoDBClient, dynamodb: Stubber) -> None:
    dynamodb.add_response("get_item", {}, {"TableName": "t", "Key": HEAD_KEY, "ConsistentRead": True})
    assert DynamoDBCacheTable(client, "t").head() is None


def test_chunks_are_read_eventually_consistent_for_they_never_change(client: DynamoDBClient, dynamodb: Stubber) -> None:
    dynamodb.add_response("get_item", {}, {"TableName": "t", "Key": {"pk": {"S": "snapshot#s#0"}, "sk": {"N": "0"}}})
    assert DynamoDBCacheTable(client, "t").chunks(SnapshotPointer("s", 1)) == [None]


def test_a_chunk_carries_when_the_table_may_drop_it(client: DynamoDBClient, dynamodb: Stubber) -> None:
    item = {
        "pk": {"S": "snapshot#s#0"},
        "sk": {"N": "0"},
        "data": {"B": b"0"},
        "expiresAt": {"N": "1700086400"},
    }
    dynamodb.add_response("put_item", {}, {"TableName": "t", "Item": item})
    DynamoDBCacheTable(client, "t").put_chunks("s", [b"0"], 1_700_086_400.9)


def test_publishing_is_one_conditional_write(client: DynamoDBClient, dynamodb: Stubber) -> None:
    dynamodb.add_response(
        "put_item", {}, {"TableName": "t", "Item": ANY, "ConditionExpression": "attribute_not_exists(pk)"}
    )
    dynamodb.add_response(
        "put_item",
        {},
        {
            "TableName": "t",
            "Item": ANY,
            "ConditionExpression": "#version = :expected",
            "ExpressionAttributeNames": {"#version": "version"},
            "ExpressionAttributeValues": {":expected": {"N": "1"}},
        },
    )
    table = DynamoDBCacheTable(client, "t")
    assert table.publish(head(1), None) is True
    assert table.publish(head(2), 1) is True


@pytest.mark.parametrize("expected", [None, 1])
def test_a_failed_condition_is_an_outcome_and_no_error(
    client: DynamoDBClient, dynamodb: Stubber, expected: int | None
) -> None:
    dynamodb.add_client_error("put_item", "ConditionalCheckFailedException", http_status_code=400)
    assert DynamoDBCacheTable(client, "t").publish(head(2), expected) is False


@pytest.mark.parametrize(("operation", "use"), USES)
@pytest.mark.parametrize(("code", "remedy"), REMEDIES)
def test_each_error_names_the_table_and_the_remedy(
    client: DynamoDBClient, dynamodb: Stubber, operation: str, use: Use, code: str, remedy: str
) -> None:
    dynamodb.add_client_error(operation, code, "in DynamoDB's words", http_status_code=400)
    with pytest.raises(TableUnavailable) as caught:
        use(DynamoDBCacheTable(client, "berth-cache"))
    assert str(caught.value) == f"node cache table berth-cache: {remedy} ({code})"
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(("operation", "use"), USES)
def test_any_other_error_is_told_in_dynamodbs_own_words(
    client: DynamoDBClient, dynamodb: Stubber, operation: str, use: Use
) -> None:
    dynamodb.add_client_error(operation, "InternalServerError", "try again", http_status_code=500)
    with pytest.raises(TableUnavailable, match=r"berth-cache: .*try again \(InternalServerError\)"):
        use(DynamoDBCacheTable(client, "berth-cache"))


@pytest.mark.parametrize(("operation", "use"), USES)
def test_an_endpoint_that_cannot_be_reached_is_the_same_kind_of_error(
    client: DynamoDBClient, operation: str, use: Use
) -> None:
    with pytest.raises(TableUnavailable, match="EndpointConnectionError"):
        use(DynamoDBCacheTable(client, "berth-cache"))


def test_an_error_while_chunks_are_read_in_parallel_is_the_same_kind_of_error(client: DynamoDBClient) -> None:
    with pytest.raises(TableUnavailable, match="EndpointConnectionError"):
        DynamoDBCacheTable(client, "berth-cache").chunks(SnapshotPointer("s", 3))


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(HEAD_KEY, id="without any field"),
        pytest.param({**HEAD_KEY, "version": {"S": "1"}}, id="a version that is text"),
        pytest.param({**HEAD_KEY, "version": {"N": "1.5"}}, id="half a version"),
    ],
)
def test_a_malformed_head_is_no_missing_head(
    client: DynamoDBClient, dynamodb: Stubber, item: dict[str, dict[str, str]]
) -> None:
    dynamodb.add_response("get_item", {"Item": item})
    with pytest.raises(TableUnavailable) as caught:
        DynamoDBCacheTable(client, "t").head()
    assert str(caught.value) == (
        "node cache table t: the head item is malformed; delete it and the next watcher publishes a new one"
    )


def test_a_malformed_chunk_is_told_and_not_raised_as_it_is(client: DynamoDBClient, dynamodb: Stubber) -> None:
    dynamodb.add_response("get_item", {"Item": {"pk": {"S": "snapshot#s#0"}, "sk": {"N": "0"}}})
    with pytest.raises(TableUnavailable):
        DynamoDBCacheTable(client, "t").chunks(SnapshotPointer("s", 1))


def test_a_head_costs_one_write_unit(client: DynamoDBClient) -> None:
    """An update costs a unit per KB of the whole item."""
    sent: list[dict[str, dict[str, str]]] = []
    client.meta.events.register(
        "provide-client-params.dynamodb.PutItem", lambda params, **_: sent.append(params["Item"])
    )
    with pytest.raises(TableUnavailable):
        DynamoDBCacheTable(client, "t").publish(head(2**53, "x" * 32, 99, at=1_700_000_000.123), 1)
    size = sum(len(name) + sum(len(text) for text in value.values()) for name, value in sent[0].items())
    assert size < 1024
    assert Decimal(sent[0]["observedAt"]["N"]) == Decimal("1700000000.123")
