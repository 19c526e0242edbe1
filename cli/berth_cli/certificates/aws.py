"""Publish to the AWS account: the trust store as an S3 object, the allow-list as an SSM parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from berth_cli.certificates.directory import CertificateError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_ssm.client import SSMClient

MAX_PARAMETER_BYTES = 4096
EMPTY_ALLOW_LIST = "# No client is allowed.\n"
"""SSM rejects an empty parameter value."""

_UNVERSIONED = (None, "", "null")


@dataclass(frozen=True, slots=True)
class Truststore:
    """Values of the template parameters TruststoreUri and TruststoreVersion."""

    uri: str
    version: str


def upload_truststore(client: S3Client, bucket: str, key: str, pem: bytes) -> Truststore:
    """Upload the trust store. Raises CertificateError for a bucket without versioning, and errors of boto3."""
    answer = client.put_object(Bucket=bucket, Key=key, Body=pem, ContentType="application/x-pem-file")
    version = answer.get("VersionId")
    if version in _UNVERSIONED or version is None:
        raise CertificateError(
            f"the bucket {bucket} has no versioning, and API Gateway needs an object version; enable it with: "
            f"aws s3api put-bucket-versioning --bucket {bucket} --versioning-configuration Status=Enabled"
        )
    return Truststore(f"s3://{bucket}/{key}", version)


def publish_allow_list(client: SSMClient, parameter: str, text: str) -> None:
    """Replace the parameter's value.

    Raises CertificateError if the list is too long or the parameter does not exist: put_parameter would create a
    parameter that no authorizer reads. Also raises errors of boto3.
    """
    if len(text.encode()) > MAX_PARAMETER_BYTES:
        raise CertificateError(
            f"the allow-list is longer than the {MAX_PARAMETER_BYTES} bytes of a parameter; revoke certificates"
        )
    try:
        client.get_parameter(Name=parameter)
    except client.exceptions.ParameterNotFound as error:
        raise CertificateError(
            f"there is no parameter {parameter}; the stack's output AllowListParameterName names it"
        ) from error
    client.put_parameter(Name=parameter, Value=text or EMPTY_ALLOW_LIST, Type="String", Overwrite=True)
