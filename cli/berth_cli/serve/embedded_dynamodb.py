"""DynamoDB inside this process: the real boto3 client on moto, behind one lock.

moto's conditional writes are not thread-safe. The lock makes them correct.
"""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock
from typing import Any, Literal

import boto3
import botocore.session
from moto.core.botocore_stubber import BotocoreStubber
from moto.dynamodb.models import dynamodb_backends

from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.ledger.table import Marker, MarkerState
from berth_cli.serve.moto_retention import CacheCleanup, stop_instance_tracking

CACHE_TABLE = "berth-cache"
LEDGER_TABLE = "berth-ledger"
REGION = "us-east-1"
ACCOUNT = "123456789012"
"""The account of moto's tables."""


class EmbeddedDynamoDB:
    """Replaces the network of every DynamoDB client that boto3's default session creates afterwards."""

    def __init__(self) -> None:
        self._moto = BotocoreStubber()
        self._moto.enabled = True
        self._lock = Lock()
        self._cleanup = CacheCleanup(CACHE_TABLE)

    def install(self) -> bool:
        """Point boto3's default session at this store and create the tables of template.yaml. Whether they are new."""
        stop_instance_tracking()
        # Credentials are set on the session, not in the environment: a kubeconfig may call `aws eks get-token` with
        # the user's environment. AWS_PROFILE is ignored.
        session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
        session.set_credentials("embedded", "embedded")
        session.set_config_variable("region", REGION)
        session.set_config_variable("ignore_configured_endpoint_urls", True)
        session.register("before-send.dynamodb", self._answer)
        boto3.setup_default_session(botocore_session=session)
        # moto has one store per process, so a second installation finds existing tables.
        with suppress(boto3.client("dynamodb").exceptions.ResourceInUseException):
            self._create_table(CACHE_TABLE, "N")
        with suppress(boto3.client("dynamodb").exceptions.ResourceInUseException):
            self._create_table(LEDGER_TABLE, "S")
            return True
        return False

    @staticmethod
    def _create_table(name: str, sort_key: Literal["N", "S"]) -> None:
        boto3.client("dynamodb").create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": sort_key},
            ],
        )

    def _answer(self, **event: Any) -> Any:
        with self._lock:
            answer = self._moto(**event)
            self._cleanup.run(dynamodb_backends[ACCOUNT][REGION])
            return answer


def mark_ledger_ready() -> None:
    """Mark the ledger ready: no bind can have started before this process, so there is nothing to rebuild."""
    ledger = DynamoDBLedgerTable(boto3.client("dynamodb"), LEDGER_TABLE)
    ledger.put_marker(Marker(MarkerState.READY, 0, time.time(), "embedded"), None)
