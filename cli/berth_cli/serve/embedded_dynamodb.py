"""DynamoDB inside this process: moto behind one lock, under the real boto3.

moto's conditional writes are not safe between threads; one at a time they are right.
"""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock
from typing import Any, Literal

import boto3
import botocore.session
from moto.core.botocore_stubber import BotocoreStubber

from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.ledger.table import Marker, MarkerState

TABLE = "berth-cache"
LEDGER_TABLE = "berth-ledger"
REGION = "us-east-1"


class EmbeddedDynamoDB:
    """Takes the place of the network in every DynamoDB client made afterwards through boto3's default session."""

    def __init__(self) -> None:
        self._moto = BotocoreStubber()
        self._moto.enabled = True
        self._one_at_a_time = Lock()

    def install(self) -> None:
        """Point boto3 at this store and create the tables as template.yaml has them."""
        # Set on the session and not in the environment, which belongs to the user: a kubeconfig may call
        # `aws eks get-token`. The profile that AWS_PROFILE names plays no part.
        session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
        session.set_credentials("embedded", "embedded")
        session.set_config_variable("region", REGION)
        session.set_config_variable("ignore_configured_endpoint_urls", True)
        session.register("before-send.dynamodb", self._answer)
        boto3.setup_default_session(botocore_session=session)
        # moto has one store a process: who installs it again finds the tables.
        with suppress(boto3.client("dynamodb").exceptions.ResourceInUseException):
            self._create_table(TABLE, "N")
        with suppress(boto3.client("dynamodb").exceptions.ResourceInUseException):
            self._create_table(LEDGER_TABLE, "S")
            self._mark_ready()

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

    @staticmethod
    def _mark_ready() -> None:
        """No bind can be under way of which a table that is made with its process would have to know."""
        ledger = DynamoDBLedgerTable(boto3.client("dynamodb"), LEDGER_TABLE)
        ledger.put_marker(Marker(MarkerState.READY, 0, time.time(), "embedded"), None)

    def _answer(self, **event: Any) -> Any:
        with self._one_at_a_time:
            return self._moto(**event)
