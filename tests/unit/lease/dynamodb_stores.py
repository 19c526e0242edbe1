"""The lock on DynamoDB, with network faults that are injected between botocore's retries and the server or emulator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from io import BytesIO
from itertools import count
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from botocore.httpsession import URLLib3Session
from moto.core.botocore_stubber import BotocoreStubber
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.dynamodb import HEAD_KEY
from berth.lease.dynamodb_lock import FENCE_MATCHES, DynamoDBLeaseLock, fenced_update
from berth.lease.lock import Fence, Lease, LeaseLock, LeaseSpec, Unavailable
from tests import moto_caches
from tests.builders.tables import create_cache_table

from .faults import ERROR_CODES, Fault, Faults
from .stores import Attributes, LeaseStore, ObservedLock, Outcome

Send = Callable[[AWSPreparedRequest], AWSResponse | None]

_NUMBERS = count(1)
_REGION = "eu-central-1"
_FAULTS: ContextVar[Faults | None] = ContextVar("faults", default=None)


class DynamoDBStore(LeaseStore):
    """A table of its own, behind a client that may be shared."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.client = client
        self.table = f"lease-contract-{next(_NUMBERS)}"
        create_cache_table(client, self.table)

    def lock(self) -> ObservedLock:
        faults = Faults()
        return ObservedLock(_OnTheWire(DynamoDBLeaseLock(self.client, self.table), faults), faults)

    def attributes(self) -> Attributes:
        item = self.client.get_item(TableName=self.table, Key=HEAD_KEY, ConsistentRead=True).get("Item", {})
        return {name: _plain(value) for name, value in item.items() if name not in HEAD_KEY}

    def put(self, attributes: Mapping[str, object]) -> None:
        self.client.put_item(TableName=self.table, Item=HEAD_KEY | _typed(attributes))

    def delete(self) -> None:
        self.client.delete_item(TableName=self.table, Key=HEAD_KEY)

    def publish(self, fence: Fence, attributes: Mapping[str, object], *, renew_time: float) -> bool:
        renewed = fenced_update(fence, renew_time=renew_time, nonce="publication")
        own = ", ".join(f"#own_{name} = :own_{name}" for name in attributes)
        return self._took(
            lambda: self.client.update_item(
                TableName=self.table,
                Key=HEAD_KEY,
                ConditionExpression=FENCE_MATCHES,
                UpdateExpression=f"SET {renewed.text}" + (f", {own}" if own else ""),
                ExpressionAttributeNames=renewed.names | {f"#own_{name}": name for name in attributes},
                ExpressionAttributeValues=renewed.values
                | {f":own_{name}": value for name, value in _typed(attributes).items()},
            )
        )

    def _took(self, write: Callable[[], object]) -> bool:
        try:
            write()
        except self.client.exceptions.ConditionalCheckFailedException:
            return False
        return True


def client_of(
    send: Send, endpoint_url: str | None = None, *, attempts: int = 1, config: Config | None = None
) -> DynamoDBClient:
    """Return a client with short timeouts. `send`: sends a request to DynamoDB."""
    client: DynamoDBClient = _session().client(
        "dynamodb",
        endpoint_url=endpoint_url,
        config=config
        or Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": attempts, "mode": "standard"}),
    )
    answer: Any = partial(_answer, send)  # the stubs do not know handlers that return a response
    client.meta.events.register_first("before-send.dynamodb", answer)
    return client


@cache
def moto_client(*, attempts: int = 1) -> DynamoDBClient:
    """Return a client of moto in this process. Only one thread at a time may use it."""
    moto_caches.install()
    stubber = BotocoreStubber()
    stubber.enabled = True
    return client_of(lambda request: stubber("before-send.dynamodb", request), attempts=attempts)


@cache
def _emulator_client(endpoint_url: str) -> DynamoDBClient:
    return client_of(URLLib3Session().send, endpoint_url)


class MotoStore(DynamoDBStore):
    def __init__(self) -> None:
        super().__init__(moto_client())


class EmulatorStore(DynamoDBStore):
    """Runs on an emulator over real connections: several threads may use it."""

    def __init__(self, endpoint_url: str) -> None:
        super().__init__(_emulator_client(endpoint_url))


@cache
def _session() -> boto3.session.Session:
    # A separate session: the default session may belong to an embedded DynamoDB by now.
    return boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=_REGION)


class _OnTheWire(LeaseLock):
    """Activates the faults of this lock during each of its calls."""

    def __init__(self, lock: LeaseLock, faults: Faults) -> None:
        self._lock = lock
        self._faults = faults

    def get(self) -> Lease | Unavailable | None:
        with self._active_faults():
            return self._lock.get()

    def create(self, spec: LeaseSpec) -> Outcome:
        with self._active_faults():
            return self._lock.create(spec)

    def update(self, seen: Lease, spec: LeaseSpec) -> Outcome:
        with self._active_faults():
            return self._lock.update(seen, spec)

    @contextmanager
    def _active_faults(self) -> Iterator[None]:
        token = _FAULTS.set(self._faults)
        yield
        _FAULTS.reset(token)


def _answer(send: Send, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
    """Send in place of botocore, with the planned fault. Return the response, or raise an error of the connection."""
    faults = _FAULTS.get()
    fault = None if faults is None else faults.take()
    if faults is None or fault is None:
        return send(request)
    if fault in ERROR_CODES:
        return _error(request.url, fault)
    if fault is Fault.UNREACHABLE:
        raise ConnectTimeoutError(endpoint_url=request.url)
    if fault is Fault.LOST:
        send(request)
    else:
        faults.hold_back(lambda: send(request))
    raise ReadTimeoutError(endpoint_url=request.url)


class _Body(BytesIO):
    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self.read()


def _error(url: str, code: str) -> AWSResponse:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "injected"}
    return error_response(url, json.dumps(body).encode())


def error_response(url: str, body: bytes) -> AWSResponse:
    """Return DynamoDB's answer to a request that it refuses."""
    return AWSResponse(url, 400, HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"}), _Body(body))


def _typed(attributes: Mapping[str, object]) -> dict[str, Any]:
    return {name: TypeSerializer().serialize(value) for name, value in attributes.items()}


def _plain(value: Any) -> object:
    plain: object = TypeDeserializer().deserialize(value)
    return plain
