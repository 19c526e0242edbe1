"""Behavior of the lock specific to DynamoDB: its requests, its errors, and botocore's retries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from botocore.stub import Stubber
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.lock import Lease, LeaseLock, LeaseSpec, Unavailable, Written
from tests.unit.lease.clocks import AT
from tests.unit.lease.dynamodb_stores import MotoStore, client_of, moto_client
from tests.unit.lease.faults import Fault

HEAD_KEY = {"pk": {"S": "head"}, "sk": {"N": "0"}}
SPEC = LeaseSpec("alpha", 15, acquire_time=AT, renew_time=AT + 0.5, lease_transitions=4)
SEEN = Lease(SPEC, 9, "uid-1", "nonce")


@pytest.fixture(scope="module")
def client() -> DynamoDBClient:
    return client_of(lambda _: None, "http://127.0.0.1:9")


@pytest.fixture
def dynamodb(client: DynamoDBClient) -> Iterator[Stubber]:
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def lock(client: DynamoDBClient) -> DynamoDBLeaseLock:
    """Return a lock whose ids are id-1, id-2 and so on."""
    ids = iter(f"id-{number}" for number in range(1, 9))
    return DynamoDBLeaseLock(client, "table", lambda: next(ids))


def test_get_is_strongly_consistent(lock: LeaseLock, dynamodb: Stubber) -> None:
    dynamodb.add_response("get_item", {}, {"TableName": "table", "Key": HEAD_KEY, "ConsistentRead": True})
    assert lock.get() is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "ResourceNotFoundException",
            "the table does not exist; deploy the stack, or set BERTH_CACHE_TABLE to its table",
        ),
        ("AccessDeniedException", "the function's role lacks a permission on the table"),
        ("ProvisionedThroughputExceededException", "the table is throttled"),
        ("ThrottlingException", "the table is throttled"),
        ("TransactionConflictException", "a transaction holds the item; try again"),
        ("UnrecognizedClientException", "the AWS credentials are not valid"),
        ("ExpiredTokenException", "the AWS credentials have expired"),
        ("InternalServerError", "An error occurred (InternalServerError) when calling the {} operation: broken"),
    ],
)
@pytest.mark.parametrize(
    ("operation", "call"),
    [
        pytest.param("GetItem", lambda lock: lock.get(), id="get"),
        pytest.param("UpdateItem", lambda lock: lock.create(SPEC), id="create"),
        pytest.param("UpdateItem", lambda lock: lock.update(SEEN, SPEC), id="update"),
    ],
)
def test_error_names_cause_and_remedy(
    lock: LeaseLock, dynamodb: Stubber, operation: str, call: Callable[[LeaseLock], object], code: str, reason: str
) -> None:
    dynamodb.add_client_error("get_item" if operation == "GetItem" else "update_item", code, "broken")
    assert call(lock) == Unavailable(f"node cache table table: {reason.format(operation)} ({code})")


class TestBotocoresRetry:
    """The first attempt is committed and its response is lost; botocore tries again and meets a failed condition."""

    @pytest.fixture
    def store(self, monkeypatch: pytest.MonkeyPatch) -> MotoStore:
        monkeypatch.setattr("time.sleep", lambda _: None)  # botocore sleeps before it retries
        store = MotoStore()
        store.client = moto_client(attempts=2)
        return store

    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param(replace(SPEC, renew_time=AT + 2), id="renewal"),
            pytest.param(replace(SPEC, holder_identity="beta", lease_transitions=5), id="takeover"),
            pytest.param(replace(SPEC, holder_identity="", lease_duration_seconds=1), id="release"),
        ],
    )
    def test_update_succeeds_if_the_item_already_has_its_nonce(self, store: MotoStore, spec: LeaseSpec) -> None:
        lock = store.lock()
        seen = lock.create(SPEC)
        assert isinstance(seen, Written)
        lock.faults.plan(Fault.LOST)
        written = lock.update(seen.lease, spec)
        assert isinstance(written, Written)
        assert (written.lease.spec, written.lease.resource_version) == (spec, 2)
        assert lock.get() == written.lease
