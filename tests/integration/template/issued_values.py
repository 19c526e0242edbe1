"""Values as AWS issues them, at their longest in any partition and region, for the parameters that take such values.

Partitions: aws, aws-cn, aws-us-gov. The longest region name is ap-northeast-1 or ap-southeast-1; us-gov-west-1 is
shorter, but its partition's name is longer.
"""

from __future__ import annotations

import base64
from functools import cache

from botocore.session import get_session

ACCOUNT = "123456789012"
STACK_NAME = "b" * 128
BUCKET = "b" * 63
UUID = "01234567-89ab-cdef-0123-456789abcdef"

PARTITIONS = ("aws", "aws-cn", "aws-us-gov")
DOMAINS = {"aws": "amazonaws.com", "aws-cn": "amazonaws.com.cn", "aws-us-gov": "amazonaws.com"}


@cache
def regions() -> list[tuple[str, str]]:
    """Every region that botocore knows, with its partition."""
    session = get_session()
    return [
        (partition, region)
        for partition in PARTITIONS
        for region in session.get_available_regions("eks", partition_name=partition)
    ]


def endpoints() -> list[str]:
    """An EKS cluster's endpoint in each region."""
    return [
        f"https://{'0123456789ABCDEF' * 2}.gr7.{region}.eks.{DOMAINS[partition]}" for partition, region in regions()
    ]


CERTIFICATE_AUTHORITY = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\n" + b"\n".join([b"A" * 64] * 17) + b"\n-----END CERTIFICATE-----\n"
).decode()
"""About 1,500 characters; `twice` as much is tried, because Kubernetes allows a bundle while it rotates."""


def arns(service: str, resource: str, *, regional: bool = True) -> list[str]:
    """An ARN in each region."""
    return [
        f"arn:{partition}:{service}:{region if regional else ''}:{ACCOUNT}:{resource}"
        for partition, region in regions()
    ]


PARAMETERS_AT_THEIR_LONGEST: dict[str, list[str]] = {
    "WatcherKubeconfigSecretArn": arns("secretsmanager", f"secret:{'w' * 512}-AbCdEf"),
    "BinderKubeconfigSecretArn": arns("secretsmanager", f"secret:{'b' * 512}-AbCdEf"),
    "KubeconfigKeyArn": arns("kms", f"key/mrk-{'0' * 32}") + arns("kms", f"key/{UUID}"),
    "EksClusterName": ["c" * 100],
    "EksEndpoint": endpoints(),
    "EksCertificateAuthority": [CERTIFICATE_AUTHORITY, CERTIFICATE_AUTHORITY * 2],
    "DomainName": [f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 61}"],
    "DomainCertificateArn": arns("acm", f"certificate/{UUID}"),
    "TruststoreUri": [f"s3://{BUCKET}/{'k' * 1024}"],
    "TruststoreVersion": ["v" * 1024, "null"],
    "RolePath": [f"/{'p' * 510}/"],
    "PermissionsBoundaryArn": arns("iam", f"policy/{'p' * 510}/{'n' * 128}", regional=False),
    "TableKeyArn": arns("kms", f"key/mrk-{'0' * 32}") + arns("kms", f"key/{UUID}"),
    "VpcSubnetIds": [",".join([f"subnet-{'0123456789abcdef0'}"] * 16), "subnet-01234567"],
    "VpcSecurityGroupIds": [",".join([f"sg-{'0123456789abcdef0'}"] * 5), "sg-01234567"],
    "PluginLayerArn": arns("lambda", f"layer:{'l' * 140}:1234567"),
    "AlarmTopicArn": arns("sns", "t" * 256),
}
"""By parameter. Lambda takes up to 16 subnets and 5 security groups."""
