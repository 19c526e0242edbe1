"""Clients of an AWS account inside this process: moto, used as by MotoDynamoDB, for other services."""

from __future__ import annotations

from typing import Any

import boto3
import botocore.loaders
import botocore.session
from moto.core.botocore_stubber import BotocoreStubber

from tests import moto_caches

REGION = "us-east-1"

moto_caches.install()

# Descriptions of services are megabytes of JSON, so all sessions share a loader that reads them once.
_DESCRIPTIONS = botocore.loaders.create_loader()


def moto_session(*services: str) -> boto3.Session:
    """Return a session whose clients of these services call only moto. It does not use `mock_aws`, which would
    empty the store of other tests."""
    moto: Any = BotocoreStubber()
    moto.enabled = True
    session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
    session.register_component("data_loader", _DESCRIPTIONS)
    session.set_credentials("test", "test")
    session.set_config_variable("region", REGION)
    session.set_config_variable("ignore_configured_endpoint_urls", True)
    for service in services:
        session.register(f"before-send.{service}", moto)
    return boto3.Session(botocore_session=session)


def moto_client(service: str) -> Any:
    session: Any = moto_session(service)
    return session.client(service)
