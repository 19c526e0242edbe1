"""The presigned request, byte for byte."""

from __future__ import annotations

from datetime import UTC, datetime

import botocore.session
import pytest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.model import ServiceId
from botocore.signers import RequestSigner

from berth.cluster.api_server.eks import presigned_get_caller_identity, regional_host

HEADER = "x-k8s-aws-id"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SESSION_TOKEN = "IQoJb3JpZ2luX2VjE+Bw/aCXVzLWVhc3QtMSJH=="
AT = datetime(2026, 3, 1, 12, 34, 56, tzinfo=UTC)

# What botocore 1.44 presigned for these credentials at that time, with the cluster's name in the signed header, as
# `aws eks get-token` does.
RECORDED = (
    "https://sts.eu-central-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
    "&X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIDEXAMPLE%2F20260301%2Feu-central-1%2Fsts%2Faws4_request"
    "&X-Amz-Date=20260301T123456Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id"
    "&X-Amz-Security-Token=IQoJb3JpZ2luX2VjE%2BBw%2FaCXVzLWVhc3QtMSJH%3D%3D"
    "&X-Amz-Signature=5be99d0c6ca00c289e7a2977d6dd7b75668414f1493023805224ff53ba4a8f9d"
)


def presigned(
    cluster: str = "prod-1",
    region: str = "eu-central-1",
    token: str | None = SESSION_TOKEN,
    at: datetime = AT,
    access_key: str = "AKIDEXAMPLE",
) -> str:
    credentials = ReadOnlyCredentials(access_key, SECRET_KEY, token)
    return presigned_get_caller_identity(credentials, region, {HEADER: cluster}, at=at.timestamp(), expires=60)


def test_signature_equals_recorded_request() -> None:
    assert presigned() == RECORDED


@pytest.mark.parametrize(
    ("cluster", "region", "token", "at"),
    [
        pytest.param("prod-1", "us-east-1", None, AT, id="a user's keys, without a session token"),
        pytest.param("prod-1", "us-east-1", SESSION_TOKEN, AT, id="a role's keys"),
        pytest.param("prod-1", "cn-north-1", SESSION_TOKEN, AT, id="another partition"),
        pytest.param("prod-1", "us-gov-west-1", SESSION_TOKEN, AT, id="GovCloud"),
        pytest.param(
            "A_b-0123456789" * 7, "ap-southeast-4", SESSION_TOKEN, AT, id="a name with all allowed characters"
        ),
        pytest.param("two  blanks ", "eu-west-1", SESSION_TOKEN, AT, id="a name with blanks"),
        pytest.param("prod-1", "eu-west-1", "~-._%/+= &é", AT, id="a session token with special characters"),
        pytest.param("prod-1", "eu-west-1", None, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), id="small numbers"),
        pytest.param("prod-1", "eu-west-1", None, datetime(2026, 12, 31, 23, 59, 59, 999999, UTC), id="a year's end"),
    ],
)
def test_signature_equals_botocores_signature(
    monkeypatch: pytest.MonkeyPatch, cluster: str, region: str, token: str | None, at: datetime
) -> None:
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda remove_tzinfo=True: at.replace(tzinfo=None))
    session = botocore.session.Session()
    signer = RequestSigner(
        ServiceId("STS"),
        region,
        "sts",
        "v4",
        Credentials("AKIDEXAMPLE", SECRET_KEY, token),
        session.get_component("event_emitter"),
    )
    request = {
        "method": "GET",
        "url": f"https://{regional_host(region)}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {HEADER: cluster},
        "context": {},
    }
    expected = signer.generate_presigned_url(request, region_name=region, expires_in=60, operation_name="")
    assert presigned(cluster, region, token, at) == expected


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"cluster": "prod-2"}, id="the cluster"),
        pytest.param({"region": "eu-central-2"}, id="the region"),
        pytest.param({"token": "other"}, id="the session token"),
        pytest.param({"at": datetime(2026, 3, 1, 12, 34, 57, tzinfo=UTC)}, id="the second"),
        pytest.param({"access_key": "AKIDOTHER"}, id="the access key"),
    ],
)
def test_signs_every_part_of_request(changed: dict[str, object]) -> None:
    assert presigned(**changed).rpartition("=")[2] != RECORDED.rpartition("=")[2]  # type: ignore[arg-type]


def test_uses_regional_endpoint_of_every_region() -> None:
    partitions = botocore.session.Session().get_data("partitions")["partitions"]
    hosts = {
        region: f"sts.{region}.{partition['outputs']['dnsSuffix']}"
        for partition in partitions
        for region in partition["regions"]
        if not region.endswith("-global")
    }
    assert len(hosts) > 30
    assert {region: regional_host(region) for region in hosts} == hosts
