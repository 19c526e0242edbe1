"""The API server's address and credentials, and the renewal of credentials that the server rejects.

A source is called once at the start and again after each 401: it rereads the kubeconfig, the secret or the service
account's token, or discards a cached token. For tokens that change in between, every request calls BearerServer's
`token` or the Configuration's own `refresh_api_key_hook`.

A token or a client certificate works without the Kubernetes client, whose import takes a sixth of bind's start time.
Other kubeconfigs need the client.

An EKS cluster is accessed with the caller's IAM role: the token is a presigned GetCallerIdentity for the cluster. The
cluster's authenticator sends the request to STS and gets the caller's identity. Creating a token does not call AWS.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, Union

import urllib3
from botocore.exceptions import BotoCoreError, ClientError

from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from kubernetes.client import Configuration


@dataclass(frozen=True, slots=True, eq=False)
class CertificateServer:
    """An API server with a client certificate. host: begins with https://. context: contains the client certificate,
    and the authorities that verify the server."""

    host: str
    context: ssl.SSLContext

    def pool(self) -> urllib3.PoolManager:
        return urllib3.PoolManager(ssl_context=self.context)


def client_context(authority: str | None, certificate: str, key: str) -> ssl.SSLContext | None:
    """Load PEM texts. authority: None for the system's authorities. Return None if they are not PEM or do not match."""
    # Most functions have a token, and do not need this import.
    from tempfile import NamedTemporaryFile

    try:
        context = ssl.create_default_context(cadata=authority)
        # Python loads a key only from a file. Other users cannot read this file, and it is removed afterwards.
        with NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{certificate}\n{key}\n")
            file.flush()
            # Without a password OpenSSL would ask a terminal for the password of an encrypted key.
            context.load_cert_chain(file.name, password="")
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        return None
    return context


@dataclass(frozen=True, slots=True, eq=False)
class BearerServer:
    """An API server with a bearer token. host: begins with https://. authority: the certificate authorities as PEM, or
    a PEM file that may change; None: the system's authorities. token: called on every request; raises
    ClusterUnavailable."""

    host: str
    authority: str | Path | None
    token: Callable[[], str]

    def pool(self) -> urllib3.PoolManager:
        if isinstance(self.authority, Path):
            return urllib3.PoolManager(cert_reqs=ssl.CERT_REQUIRED, ca_certs=str(self.authority))
        return urllib3.PoolManager(cert_reqs=ssl.CERT_REQUIRED, ca_cert_data=self.authority)

    def configuration(self) -> Configuration:
        from kubernetes.client import Configuration

        configuration = Configuration()
        configuration.host = self.host
        if isinstance(self.authority, Path):
            configuration.ssl_ca_cert = str(self.authority)
        elif self.authority is not None:
            configuration.ca_cert_data = self.authority
        return configuration


Server: TypeAlias = Union[BearerServer, CertificateServer, "Configuration"]
"""An API server and Berth's credentials for it. The Kubernetes client creates Configurations."""


class Access:
    """The current server and credentials of one user. Thread-safe; may be shared between ApiServers of that user."""

    def __init__(self, source: Callable[[], Server]) -> None:
        """Call the source. Raises its exceptions, which are ClusterUnavailable for the sources of this package."""
        self._source = source
        self._lock = Lock()
        self.configuration = source()
        """The current server, which is another object after each renewal."""

    def renew(self, refused: Server) -> bool:
        """Call the source again, unless another thread has already replaced `refused`. Return False if the source
        returns the same object: there are no other credentials to try. Raises ClusterUnavailable."""
        with self._lock:
            if self.configuration is refused:
                self.configuration = self._source()
            return self.configuration is not refused


def authorization(server: Server) -> dict[str, str]:
    """Return the Authorization header; empty for a client certificate. Raises ClusterUnavailable."""
    if isinstance(server, CertificateServer):
        return {}
    return {"Authorization": f"Bearer {server.token()}"} if isinstance(server, BearerServer) else _of_client(server)


def _of_client(configuration: Configuration) -> dict[str, str]:
    # This import is fast: if there is a Configuration, the client has been imported already.
    from kubernetes.config import ConfigException

    try:
        token = configuration.get_api_key_with_prefix("BearerToken", "authorization")
    except (ConfigException, OSError) as error:
        raise ClusterUnavailable(f"the credentials for {configuration.host} cannot be renewed: {error}") from error
    if token:
        # A token that was saved with an editor ends with a line break, which is invalid in a header.
        return {"Authorization": token.strip()}
    if configuration.username:
        return {"Authorization": configuration.get_basic_auth_token() or ""}
    return {}


MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 60.0
"""The seconds between two reads of the token, as in client-go. The kubelet replaces a token when a fifth of its
lifetime is left, which is at least a few minutes."""


def from_service_account(environ: Mapping[str, str], clock: Callable[[], float], mount: Path = MOUNT) -> BearerServer:
    """Read the server from a pod's environment and mounted service account. Raises ClusterUnavailable."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ClusterUnavailable(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a pod; run it "
            "in one, or give a kubeconfig"
        )
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    authority = mount / "ca.crt"
    if not _read(authority):
        # Without a CA file TLS would use the system's authorities, and trust servers of other clusters.
        raise ClusterUnavailable(
            f"{authority} is empty: the service account has no certificate authority; it comes from "
            "the ConfigMap kube-root-ca.crt of the pod's namespace"
        )
    token = KeptToken(lambda _: _token_in(mount / "token"), clock, REREAD_SECONDS)
    token.current()
    return BearerServer(address, authority, token.current)


class KeptToken:
    """Caches a token and replaces it on use when it has reached the maximum age. Thread-safe."""

    def __init__(self, make: Callable[[float], str], clock: Callable[[], float], seconds: float) -> None:
        """Create the cache. make: returns a token for this time; may raise ClusterUnavailable. clock: returns the wall
        time. seconds: the maximum age."""
        self._make, self._clock, self._seconds = make, clock, seconds
        self._lock = Lock()
        self._last: tuple[float, str] | None = None

    def current(self) -> str:
        with self._lock:
            now, last = self._clock(), self._last
            # Also replace the token if the clock was set back: a token from the future is rejected.
            if last is None or not 0 <= now - last[0] < self._seconds:
                last = self._last = now, self._make(now)
            return last[1]


def _token_in(path: Path) -> str:
    token = _read(path).strip()
    if not token:
        raise ClusterUnavailable(
            f"{path} is empty: the service account has no token; the kubelet writes it: see the events of the pod"
        )
    return token


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise ClusterUnavailable(f"{path}: {error.strerror}; is a service account mounted?") from error


# DNS suffixes by the prefix of a region's name. Other AWS partitions use the commercial suffix.
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
    """Return the host of STS in this region: the global endpoint is slower, and disabled in some accounts."""
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
    """The output of `aws eks describe-cluster`, and the region. Raises ValueError with the field's name if a value is
    missing or cannot be valid."""

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
    """Return the EKS cluster's server. `credentials`: a session's get_credentials. `clock`: returns the wall time."""
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
    # Only EKS needs these imports, for the signer.
    from botocore.hooks import HierarchicalEmitter
    from botocore.model import ServiceId
    from botocore.signers import RequestSigner

    emitter = HierarchicalEmitter()  # keep a reference: the signer has only a weak one
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
