"""What the account has to know: the trust store (an object in S3) and the allow-list (a parameter of SSM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from berth_cli.certificates.directory import Refused

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_ssm.client import SSMClient

MAX_PARAMETER_BYTES = 4096
NOBODY = "# Nobody may call.\n"
"""A parameter cannot be empty."""

_NO_VERSION = (None, "", "null")


@dataclass(frozen=True, slots=True)
class Truststore:
    """The template's parameters TruststoreUri and TruststoreVersion."""

    uri: str
    version: str


def upload(client: S3Client, bucket: str, key: str, pem: bytes) -> Truststore:
    """Raises Refused where the bucket keeps no versions; and what boto3 raises."""
    answer = client.put_object(Bucket=bucket, Key=key, Body=pem, ContentType="application/x-pem-file")
    version = answer.get("VersionId")
    if version in _NO_VERSION or version is None:
        raise Refused(
            f"the bucket {bucket} keeps no versions, and API Gateway has to be told one; switch it on with: "
            f"aws s3api put-bucket-versioning --bucket {bucket} --versioning-configuration Status=Enabled"
        )
    return Truststore(f"s3://{bucket}/{key}", version)


def publish_allow_list(client: SSMClient, parameter: str, text: str) -> None:
    """In the place of what the parameter had. Raises Refused where it has no room, or is not there: put_parameter would
    make a list that no authorizer reads. And what boto3 raises."""
    if len(text.encode()) > MAX_PARAMETER_BYTES:
        raise Refused(f"the allow-list is longer than the {MAX_PARAMETER_BYTES} bytes of a parameter; revoke some")
    try:
        client.get_parameter(Name=parameter)
    except client.exceptions.ParameterNotFound as error:
        raise Refused(
            f"there is no parameter {parameter}; the stack's output AllowListParameterName names it"
        ) from error
    client.put_parameter(Name=parameter, Value=text or NOBODY, Type="String", Overwrite=True)
