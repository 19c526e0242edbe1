"""An EKS cluster's token: its contents, and when a new one is created."""

from __future__ import annotations

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, CredentialRetrievalError

from berth.cluster.api_server.access import Access, EksSettings, authorization, from_eks, regional_host
from berth.cluster.api_server.client import ApiServer, ApiServerUnreachable, CredentialsUnavailable
from tests.builders.certificates import self_signed, server_tls
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS, driven_api_server

SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SESSION_TOKEN = "IQoJb3JpZ2luX2VjE+Bw/aCXVzLWVhc3QtMSJH=="
AT = datetime(2026, 3, 1, 12, 34, 56, tzinfo=UTC)

# The URL that botocore 1.44 presigned for these credentials at that time. As with `aws eks get-token`, the signed
# header contains the cluster's name.
RECORDED = (
    "https://sts.eu-central-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
    "&X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIDEXAMPLE%2F20260301%2Feu-central-1%2Fsts%2Faws4_request"
    "&X-Amz-Date=20260301T123456Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id"
    "&X-Amz-Security-Token=IQoJb3JpZ2luX2VjE%2BBw%2FaCXVzLWVhc3QtMSJH%3D%3D"
    "&X-Amz-Signature=5be99d0c6ca00c289e7a2977d6dd7b75668414f1493023805224ff53ba4a8f9d"
)

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEYS = Credentials("AKIDEXAMPLE", SECRET_KEY, SESSION_TOKEN)


def settings(**changed: str) -> EksSettings:
    fields = {
        "cluster_name": "prod-1",
        "endpoint": "https://0123456789abcdef.gr7.eu-central-1.eks.amazonaws.com",
        "certificate_authority_data": base64.b64encode(PEM.encode()).decode(),
        "region": "eu-central-1",
    }
    return EksSettings(**(fields | changed))


def token_of(header: str | None) -> str:
    assert header is not None
    prefix, _, encoded = header.partition("k8s-aws-v1.")
    assert prefix == "Bearer "
    assert "=" not in encoded
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandDrivenClock:
    clock = HandDrivenClock(AT.timestamp())

    def now(*, remove_tzinfo: bool = True) -> datetime:
        found = datetime.fromtimestamp(clock(), UTC)
        return found.replace(tzinfo=None) if remove_tzinfo else found

    monkeypatch.setattr("botocore.auth.get_current_datetime", now)
    return clock


def test_token_equals_recorded_token(clock: HandDrivenClock) -> None:
    header = authorization(from_eks(settings(), lambda: KEYS, clock))["Authorization"]
    assert token_of(header) == RECORDED
    assert header[:67] == "Bearer k8s-aws-v1.aHR0cHM6Ly9zdHMuZXUtY2VudHJhbC0xLmFtYXpvbmF3cy5jb"
    assert header[-60:] == "hMjk3N2Q2ZGQ3Yjc1NjY4NDE0ZjE0OTMwMjM4MDUyMjRmZjUzYmE0YThmOWQ"


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"cluster_name": "prod-2"}, id="the cluster"),
        pytest.param({"region": "eu-central-2"}, id="the region"),
    ],
)
def test_token_is_signed_for_this_cluster(clock: HandDrivenClock, changed: dict[str, str]) -> None:
    url = token_of(authorization(from_eks(settings(**changed), lambda: KEYS, clock))["Authorization"])
    assert url.rpartition("=")[2] != RECORDED.rpartition("=")[2]


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


def test_reads_endpoint_and_authority_from_settings() -> None:
    server = from_eks(settings(endpoint="https://eks.example/"), lambda: KEYS, HandDrivenClock())
    assert server.host == "https://eks.example"
    assert server.authority == PEM


@pytest.mark.parametrize(
    ("seconds", "same"),
    [
        pytest.param(0, True, id="at once"),
        pytest.param(599, True, id="before ten minutes"),
        pytest.param(600, False, id="after ten minutes"),
        pytest.param(86_400, False, id="after being frozen for a day"),
        pytest.param(-1, False, id="when the clock was set back"),
    ],
)
def test_creates_new_token_well_before_15_minutes(clock: HandDrivenClock, seconds: float, same: bool) -> None:
    server = from_eks(settings(), lambda: KEYS, clock)
    first = authorization(server)
    clock.advance(seconds)
    assert (authorization(server) == first) is same


def test_signs_token_with_current_credentials() -> None:
    clock, keys = HandDrivenClock(), iter([KEYS, Credentials("AKIDROTATED", SECRET_KEY, "other")])
    server = from_eks(settings(), lambda: next(keys), clock)
    assert "AKIDEXAMPLE" in token_of(authorization(server)["Authorization"])
    clock.advance(600)
    assert "AKIDROTATED" in token_of(authorization(server)["Authorization"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"cluster_name": ""}, "cluster_name is missing", id="no cluster name"),
        pytest.param({"region": ""}, "region is missing", id="no region"),
        pytest.param({"endpoint": ""}, "endpoint is missing", id="no endpoint"),
        pytest.param({"endpoint": "http://eks.example"}, "endpoint does not begin with https://", id="not TLS"),
        pytest.param({"certificate_authority_data": ""}, "certificate_authority_data is missing", id="no authority"),
        pytest.param(
            {"certificate_authority_data": PEM},
            "certificate_authority_data is not a certificate in base64",
            id="an authority that is not base64",
        ),
        pytest.param(
            {"certificate_authority_data": base64.b64encode(b"\xff\x00").decode()},
            "certificate_authority_data is not a certificate in base64",
            id="an authority that is not text",
        ),
        pytest.param(
            {"certificate_authority_data": base64.b64encode(b"\n").decode()},
            "certificate_authority_data has no certificate in it",
            id="an empty authority",
        ),
    ],
)
def test_rejects_invalid_settings_of_an_eks_cluster(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings(**changed)


def _denied() -> Credentials:
    raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not allowed"}}, "AssumeRole")


def _unreadable() -> Credentials:
    raise CredentialRetrievalError(provider="process", error_msg="exit 1")


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        pytest.param(lambda: None, "there are no AWS credentials; run as an IAM role", id="no credentials"),
        pytest.param(_denied, "the AWS credentials cannot be had: .*not allowed", id="a role that is not allowed"),
        pytest.param(_unreadable, "the AWS credentials cannot be had: .*exit 1", id="a failing credential process"),
    ],
)
def test_reports_cause_and_does_not_send_a_request_without_credentials(
    credentials: Callable[[], Credentials | None], message: str
) -> None:
    api = ApiServer(from_eks(settings(), credentials, HandDrivenClock()), HandDrivenClock())
    with pytest.raises(CredentialsUnavailable, match=message):
        api.request("GET", "/version", timeout=1)


def test_creates_new_token_if_the_cluster_rejects_the_old_one(clock: HandDrivenClock, tmp_path: Path) -> None:
    context, certificate = server_tls(tmp_path)
    with driven_api_server(context) as server, ThreadPoolExecutor(1) as pool:
        cluster = settings(
            endpoint=server.host, certificate_authority_data=base64.b64encode(certificate.read_bytes()).decode()
        )
        api = ApiServer(Access(partial(from_eks, cluster, lambda: KEYS, clock)), clock)
        asking: Any = pool.submit(lambda: api.request("GET", "/version", timeout=PATIENCE_SECONDS))
        first = server.next("/version")
        assert "prod-1" not in token_of(first.headers["Authorization"])
        clock.advance(1)
        first.refuse(401, "Unauthorized")
        second = server.next("/version")
        assert token_of(second.headers["Authorization"]) != token_of(first.headers["Authorization"])
        second.answer(200, {})
        assert asking.result(PATIENCE_SECONDS).ok


def test_rejects_server_certified_by_another_authority(tmp_path: Path) -> None:
    (context, _), (other, _) = server_tls(tmp_path), self_signed(tmp_path, "other")
    with driven_api_server(context) as server:
        cluster = settings(
            endpoint=server.host, certificate_authority_data=base64.b64encode(other.read_bytes()).decode()
        )
        api = ApiServer(from_eks(cluster, lambda: KEYS, HandDrivenClock()), HandDrivenClock())
        with pytest.raises(ApiServerUnreachable, match=r"certificate of .* is not trusted; .* or the EKS settings"):
            api.request("GET", "/version", timeout=5)
        assert server.nothing_waits()
