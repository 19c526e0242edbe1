"""Clients of AWS services, from one session of botocore per process.

boto3 would give the same clients, and would import its resources and S3 transfers at every cold start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from botocore.config import Config
from botocore.session import Session

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_secretsmanager.client import SecretsManagerClient
    from mypy_boto3_ssm.client import SSMClient

SESSION = Session()
"""Reads files, credentials and region when the first client is created."""


@overload
def aws_client(
    service: Literal["dynamodb"], config: Config, *, region: str | None = None, endpoint_url: str | None = None
) -> DynamoDBClient: ...


@overload
def aws_client(service: Literal["secretsmanager"], config: Config) -> SecretsManagerClient: ...


@overload
def aws_client(service: Literal["ssm"], config: Config) -> SSMClient: ...


@overload
def aws_client(service: Literal["lambda", "codedeploy"], config: Config | None = None) -> Any: ...


def aws_client(
    service: str, config: Config | None = None, *, region: str | None = None, endpoint_url: str | None = None
) -> Any:
    """A client, which threads may share. To be created by one thread at a time. `region` and `endpoint_url`: by default
    the environment's."""
    return SESSION.create_client(service, config=config, region_name=region, endpoint_url=endpoint_url)
