"""Access to an EKS cluster with the caller's IAM role: the token is a presigned GetCallerIdentity for the cluster.

The cluster's authenticator sends the request to STS and gets the caller's identity. Creating a token does not call AWS.
The signature is Signature Version 4 in query parameters. botocore is not used, because it signs with its own clock.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from botocore.exceptions import BotoCoreError, ClientError

from berth.cluster.api_server.access import BearerServer, KeptToken
from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from botocore.credentials import Credentials, ReadOnlyCredentials

_ALGORITHM = "AWS4-HMAC-SHA256"
_SERVICE = "sts"
_OPERATION = {"Action": "GetCallerIdentity", "Version": "2011-06-15"}
_EMPTY_BODY = hashlib.sha256(b"").hexdigest()

# DNS suffixes by the prefix of a region's name. All other partitions of EKS have the commercial suffix.
_DNS_SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "us-isof-": "csp.hci.ic.gov",
}
_COMMERCIAL_SUFFIX = "amazonaws.com"


def regional_host(region: str) -> str:
    """Return the host of STS in that region: the global endpoint is slower, and disabled in some accounts."""
    suffix = next((suffix for start, suffix in _DNS_SUFFIXES.items() if region.startswith(start)), _COMMERCIAL_SUFFIX)
    return f"{_SERVICE}.{region}.{suffix}"


def presigned_get_caller_identity(
    credentials: ReadOnlyCredentials, region: str, headers: Mapping[str, str], *, at: float, expires: int
) -> str:
    """Return the presigned URL. The request must have these `headers` (names in lower case), which are signed too.

    `at`: seconds since the epoch; `expires`: the seconds after `at` in which STS accepts the URL.
    """
    host = regional_host(region)
    now = datetime.fromtimestamp(at, UTC)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    scope = f"{day}/{region}/{_SERVICE}/aws4_request"
    signed = dict(sorted({**headers, "host": host}.items()))
    parameters = _OPERATION | {
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(expires),
        "X-Amz-SignedHeaders": ";".join(signed),
    }
    if credentials.token:
        parameters["X-Amz-Security-Token"] = credentials.token
    canonical_request = "\n".join(
        [
            "GET",
            "/",
            _query(dict(sorted(parameters.items()))),
            *(f"{name}:{' '.join(value.split())}" for name, value in signed.items()),
            "",
            ";".join(signed),
            _EMPTY_BODY,
        ]
    )
    to_sign = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256(canonical_request.encode()).hexdigest()])
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (day, region, _SERVICE, "aws4_request"):
        key = _hmac(key, part)
    return f"https://{host}/?{_query(parameters)}&X-Amz-Signature={_hmac(key, to_sign).hex()}"


def _query(parameters: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in parameters.items())


def _hmac(key: bytes, message: str) -> bytes:
    return hmac.new(key, message.encode(), hashlib.sha256).digest()


CLUSTER_HEADER = "x-k8s-aws-id"
EXPIRES_SECONDS = 60
"""The value that the authenticator expects. It does not limit the token, which is accepted for 15 minutes."""

RENEW_SECONDS = 600.0

_PREFIX = "k8s-aws-v1."
_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class EksSettings:
    """The output of `aws eks describe-cluster`: `name`, `endpoint`, `certificateAuthority.data`, and its region.

    Raises ValueError with the field's name if a value cannot work or would not be verified.
    """

    cluster_name: str
    endpoint: str
    certificate_authority_data: str
    region: str

    def __post_init__(self) -> None:
        for field in ("cluster_name", "endpoint", "certificate_authority_data", "region"):
            if not getattr(self, field):
                raise ValueError(f"EKS: {field} is missing")
        if not self.endpoint.startswith("https://"):
            raise ValueError("EKS: endpoint does not begin with https://")
        if _CERTIFICATE not in self.certificate_authority():
            raise ValueError("EKS: certificate_authority_data has no certificate in it")

    def certificate_authority(self) -> str:
        try:
            return base64.b64decode(self.certificate_authority_data, validate=True).decode("ascii")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ValueError("EKS: certificate_authority_data is not a certificate in base64") from error


def from_eks(
    settings: EksSettings, credentials: Callable[[], Credentials | None], clock: Callable[[], float]
) -> BearerServer:
    """Return the EKS cluster's server. `credentials`: a session's get_credentials. `clock`: wall time, which STS
    compares with its own."""
    token = KeptToken(lambda now: eks_token(settings, _frozen(credentials), now), clock, RENEW_SECONDS)
    return BearerServer(settings.endpoint.rstrip("/"), settings.certificate_authority(), token.current)


def eks_token(settings: EksSettings, credentials: ReadOnlyCredentials, at: float) -> str:
    """Return the bearer token, valid for 15 minutes from `at`, in seconds since the epoch."""
    url = presigned_get_caller_identity(
        credentials, settings.region, {CLUSTER_HEADER: settings.cluster_name}, at=at, expires=EXPIRES_SECONDS
    )
    return _PREFIX + base64.urlsafe_b64encode(url.encode()).rstrip(b"=").decode()


def _frozen(credentials: Callable[[], Credentials | None]) -> ReadOnlyCredentials:
    try:
        found = credentials()
        if found is not None:
            return found.get_frozen_credentials()
    except (BotoCoreError, ClientError) as error:
        raise ClusterUnavailable(f"EKS: the AWS credentials cannot be had: {error}") from error
    raise ClusterUnavailable("EKS: there are no AWS credentials; run as an IAM role, or set a profile")
