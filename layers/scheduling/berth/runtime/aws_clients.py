"""Clients of AWS services, from one session of botocore per process.

boto3 would create the same clients, but import its resources and S3 transfers at every cold start.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import orjson
from botocore.config import Config
from botocore.loaders import JSONFileLoader, Loader
from botocore.session import Session

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

# A verb has the scheduler's httpTimeout, 5 s by default, for everything, including the check of its caller; two
# attempts of one second each fit.
CALLS = Config(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})


class LambdaClient(Protocol):
    """The only method of boto3's Lambda client that Berth uses."""

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> Mapping[str, object]:  # noqa: N803
        """Invoke a function. Raises ClientError and BotoCoreError."""


SERVICES = ["codedeploy", "dynamodb", "lambda", "secretsmanager"]
"""The services that `aws_client` may create a client for."""


class _Files(JSONFileLoader):
    """Reads botocore's descriptions (a megabyte of JSON for the first client) with orjson, in a fifth of the time."""

    def load_file(self, file_path: str) -> Any:
        for name, open_file in ((f"{file_path}.json", open), (f"{file_path}.json.gz", gzip.open)):
            with suppress(FileNotFoundError), open_file(name, "rb") as file:
                return orjson.loads(file.read())
        return None


class _Descriptions(Loader):
    """Lists only SERVICES: botocore's loader would search the folders of all 400 services."""

    def list_available_services(self, type_name: str) -> list[str]:
        return SERVICES


def new_session() -> Session:
    """Return a session that creates its first client in half the time of a default session."""
    session = Session()
    session.register_component("data_loader", _Descriptions(file_loader=_Files()))
    return session


SESSION = new_session()
"""Reads files, credentials and region when the first client is created."""


def aws_credentials() -> Credentials | None:
    return SESSION.get_credentials()


@overload
def aws_client(
    service: Literal["dynamodb"], config: Config, *, region: str | None = None, endpoint_url: str | None = None
) -> DynamoDBClient: ...


@overload
def aws_client(service: Literal["secretsmanager"], config: Config) -> SecretsManagerClient: ...


@overload
def aws_client(service: Literal["lambda"], config: Config) -> LambdaClient: ...


@overload
def aws_client(service: Literal["codedeploy"]) -> Any: ...


def aws_client(
    service: str, config: Config | None = None, *, region: str | None = None, endpoint_url: str | None = None
) -> Any:
    """Return a client that threads may share. One thread at a time may call this. `region`, `endpoint_url`: default to
    the environment's."""
    return SESSION.create_client(service, config=config, region_name=region, endpoint_url=endpoint_url)
