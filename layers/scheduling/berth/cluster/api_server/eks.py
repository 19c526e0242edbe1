"""Access to an EKS cluster with the caller's IAM role: the token is a presigned GetCallerIdentity for the cluster.

The cluster's authenticator sends the request to STS and gets the caller's identity. Creating a token does not call AWS.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from berth.cluster.api_server.access import BearerServer, KeptToken
from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from botocore.credentials import Credentials

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
    return f"sts.{region}.{suffix}"


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
    """Return the EKS cluster's server. `credentials`: a session's get_credentials. `clock`: wall time."""
    token = KeptToken(lambda _: eks_token(settings, credentials), clock, RENEW_SECONDS)
    return BearerServer(settings.endpoint.rstrip("/"), settings.certificate_authority(), token.current)


def eks_token(settings: EksSettings, credentials: Callable[[], Credentials | None]) -> str:
    """Return the bearer token, valid for 15 minutes. Raises ClusterUnavailable."""
    try:
        found = credentials()
        if found is None:
            raise ClusterUnavailable("EKS: there are no AWS credentials; run as an IAM role, or set a profile")
        url = _presigned(settings, found)
    except (BotoCoreError, ClientError) as error:
        raise ClusterUnavailable(f"EKS: the AWS credentials cannot be had: {error}") from error
    return _PREFIX + base64.urlsafe_b64encode(url.encode()).rstrip(b"=").decode()


def _presigned(settings: EksSettings, credentials: Credentials) -> str:
    # Imported here: other clusters do not need a signer.
    from botocore.hooks import HierarchicalEmitter
    from botocore.model import ServiceId
    from botocore.signers import RequestSigner

    emitter = HierarchicalEmitter()  # the signer has only a weak reference
    signer = RequestSigner(ServiceId("STS"), settings.region, "sts", "v4", credentials, emitter)
    request = {
        "method": "GET",
        "url": f"https://{regional_host(settings.region)}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {CLUSTER_HEADER: settings.cluster_name},
        "context": {},
    }
    url: str = signer.generate_presigned_url(request, "GetCallerIdentity", EXPIRES_SECONDS)
    return url
