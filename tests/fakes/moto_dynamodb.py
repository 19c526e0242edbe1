"""DynamoDB inside this process: the real boto3 client on moto, behind one lock."""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import Any

import boto3
import botocore.session
from moto.core.botocore_stubber import BotocoreStubber

from berth.runtime import aws_clients
from berth_cli.server.options import DynamoDBStore
from tests import moto_caches
from tests.builders.tables import create_cache_table, create_ledger_table

REGION = "us-east-1"
SESSIONS_STORE = DynamoDBStore()

moto_caches.install()


class MotoDynamoDB:
    """Replaces the network of every DynamoDB client that the functions' or boto3's session creates afterwards."""

    def __init__(self) -> None:
        self._moto = BotocoreStubber()
        self._moto.enabled = True
        # moto's conditional writes are not thread-safe.
        self._lock = Lock()

    def install(self, store: DynamoDBStore = SESSIONS_STORE) -> DynamoDBStore:
        """Point both sessions at moto, create the tables of template.yaml, and return them as a local stack's store.

        moto has one store per process: a test that publishes a separate cluster needs separate table names.
        """
        # Credentials are set on the session, not in the environment: a kubeconfig may call `aws eks get-token` with
        # the user's environment. AWS_PROFILE is ignored.
        session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
        session.set_credentials("test", "test")
        session.set_config_variable("region", REGION)
        session.set_config_variable("ignore_configured_endpoint_urls", True)
        session.register("before-send.dynamodb", self._answer)
        boto3.setup_default_session(botocore_session=session)
        aws_clients.SESSION = session
        client: Any = boto3.client("dynamodb")
        with suppress(client.exceptions.ResourceInUseException):
            create_cache_table(client, store.cache_table)
        with suppress(client.exceptions.ResourceInUseException):
            create_ledger_table(client, store.ledger_table)
        return store

    def _answer(self, **event: Any) -> Any:
        with self._lock:
            return self._moto(**event)
