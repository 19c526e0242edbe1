"""An EKS cluster, as the IAM role we run as: the token is a presigned GetCallerIdentity that names the cluster.

The cluster's authenticator sends it to STS and learns who we are. Nothing is asked of AWS to make one.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from berth.cluster.api_server.bearer import BearerServer
from berth.cluster.api_server.sts import presigned_get_caller_identity
from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from botocore.credentials import Credentials, ReadOnlyCredentials

CLUSTER_HEADER = "x-k8s-aws-id"
EXPIRES_SECONDS = 60
"""What the authenticator asks for. It is no limit: it accepts a token for 15 minutes after its date."""

RENEW_SECONDS = 600.0

_PREFIX = "k8s-aws-v1."
_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class EksSettings:
    """What `aws eks describe-cluster` says: `name`, `endpoint`, `certificateAuthority.data`, and its region.

    Raises ValueError, naming the field, for what could not work or would not be verified.
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
        """The certificates, as PEM."""
        try:
            return base64.b64decode(self.certificate_authority_data, validate=True).decode("ascii")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ValueError("EKS: certificate_authority_data is not a certificate in base64") from error


def from_eks(
    settings: EksSettings, credentials: Callable[[], Credentials | None], clock: Callable[[], float]
) -> BearerServer:
    """`credentials` is a session's get_credentials. `clock` is wall time: STS compares it with its own."""
    token = _Token(settings, credentials, clock)
    return BearerServer(settings.endpoint.rstrip("/"), settings.certificate_authority(), token.current)


def eks_token(settings: EksSettings, credentials: ReadOnlyCredentials, at: float) -> str:
    """The bearer token, valid for 15 minutes from `at`, in seconds since the epoch."""
    url = presigned_get_caller_identity(
        credentials, settings.region, {CLUSTER_HEADER: settings.cluster_name}, at=at, expires=EXPIRES_SECONDS
    )
    return _PREFIX + base64.urlsafe_b64encode(url.encode()).rstrip(b"=").decode()


class _Token:
    """Minted when it is asked for and the last one is too old. Safe to share between threads."""

    def __init__(
        self, settings: EksSettings, credentials: Callable[[], Credentials | None], clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._clock = clock
        self._lock = Lock()
        self._minted_at: float | None = None
        self._token = ""

    def current(self) -> str:
        with self._lock:
            now = self._clock()
            # Also when the clock was set back: a token from the future is refused.
            if self._minted_at is None or not 0 <= now - self._minted_at < RENEW_SECONDS:
                self._token = eks_token(self._settings, self._frozen_credentials(), now)
                self._minted_at = now
            return self._token

    def _frozen_credentials(self) -> ReadOnlyCredentials:
        try:
            found = self._credentials()
            if found is not None:
                return found.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise ClusterUnavailable(f"EKS: the AWS credentials cannot be had: {error}") from error
        raise ClusterUnavailable("EKS: there are no AWS credentials; run as an IAM role, or set a profile")
