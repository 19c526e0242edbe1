"""Values as AWS issues them, at their longest in any partition and region, for the parameters that take such values.

Partitions, their DNS suffixes and their regions are those of botocore's endpoint data.
"""

from __future__ import annotations

import base64

from botocore.session import get_session

ACCOUNT = "123456789012"
STACK_NAME = "b" * 128
BUCKET = "b" * 63
UUID = "01234567-89ab-cdef-0123-456789abcdef"

_PARTITIONS = {each["partition"]: each for each in get_session().get_data("endpoints")["partitions"]}
PARTITIONS = tuple(_PARTITIONS)


def domain(partition: str) -> str:
    return str(_PARTITIONS[partition]["dnsSuffix"])


def regions_of(partition: str) -> tuple[str, ...]:
    return tuple(_PARTITIONS[partition]["regions"])


def regions() -> list[tuple[str, str]]:
    return [(partition, region) for partition in PARTITIONS for region in regions_of(partition)]


def endpoints() -> list[str]:
    return [f"https://{'0123456789ABCDEF' * 2}.gr7.{region}.eks.{domain(partition)}" for partition, region in regions()]


CERTIFICATE_AUTHORITY = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\n" + b"\n".join([b"A" * 64] * 17) + b"\n-----END CERTIFICATE-----\n"
).decode()
"""About 1,500 characters, as in every EKS cluster."""
LONGEST_CERTIFICATE_AUTHORITY = "A" * 2198
"""The longest value that fits into the functions' environment beside the longest other values."""


def arns(service: str, resource: str, *, regional: bool = True) -> list[str]:
    return [
        f"arn:{partition}:{service}:{region if regional else ''}:{ACCOUNT}:{resource}"
        for partition, region in regions()
    ]


PARAMETERS_AT_THEIR_LONGEST: dict[str, list[str]] = {
    "WatcherKubeconfigSecretArn": arns("secretsmanager", f"secret:{'w' * 512}-AbCdEf"),
    "BinderKubeconfigSecretArn": arns("secretsmanager", f"secret:{'b' * 512}-AbCdEf"),
    "EksCluster": [
        f"{'c' * 100},{endpoint},{authority}"
        for endpoint in endpoints()
        for authority in (CERTIFICATE_AUTHORITY, LONGEST_CERTIFICATE_AUTHORITY)
    ],
    "DomainName": [f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 61}"],
    "DomainCertificateArn": arns("acm", f"certificate/{UUID}"),
    "TruststoreUri": [f"s3://{BUCKET}/{'k' * 1024}?versionId={version}" for version in ("v" * 1024, "null")],
    "PermissionsBoundaryArn": arns("iam", f"policy/{'p' * 510}/{'n' * 128}", regional=False),
    "KeyArn": arns("kms", f"key/mrk-{'0' * 32}") + arns("kms", f"key/{UUID}"),
    "VpcSubnetIds": [",".join([f"subnet-{'0123456789abcdef0'}"] * 16), "subnet-01234567"],
    "VpcSecurityGroupIds": [",".join([f"sg-{'0123456789abcdef0'}"] * 5), "sg-01234567"],
    "PluginLayerArn": arns("lambda", f"layer:{'l' * 140}:1234567"),
    "SchedulerNames": [",".join(["s" * 39] * 2), "berth-scheduler", "my.scheduler_2,default-scheduler"],
    "AlarmTopicArn": arns("sns", "t" * 256),
}
"""Maps a parameter to its values. Lambda accepts up to 16 subnets and 5 security groups."""
