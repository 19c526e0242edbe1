"""Who we are at the API server: its address with our credentials, and how to get fresh ones when it refuses these.

A source is asked once at the start and again after each 401: it reads the kubeconfig, the secret or the service
account's token anew, or forgets a token it has kept. Tokens that change in between are the business of BearerServer's
`token` or of the Configuration's own `refresh_api_key_hook`, which are asked on every request.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, Union

from berth.cluster.api_server.bearer import BearerServer
from berth.cluster.api_server.certificate import CertificateServer
from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from kubernetes.client import Configuration

Server: TypeAlias = Union[BearerServer, CertificateServer, "Configuration"]
"""An API server and our credentials for it. The Kubernetes client makes a Configuration of other kubeconfigs."""


class Access:
    """May be shared between threads, and between several ApiServers that are the same user."""

    def __init__(self, source: Callable[[], Server]) -> None:
        """Raises what the source raises, which is ClusterUnavailable for those of this package."""
        self._source = source
        self._configuration = source()
        self._lock = Lock()

    @property
    def configuration(self) -> Server:
        """What holds now; another object after each renewal."""
        return self._configuration

    def renew(self, refused: Server) -> bool:
        """Ask the source again, unless another thread has since `refused`. Raises ClusterUnavailable.

        False when there is nothing else to try: the source gives the same object again.
        """
        with self._lock:
            if self._configuration is refused:
                self._configuration = self._source()
            return self._configuration is not refused


def authorization(server: Server) -> dict[str, str]:
    """The Authorization header, if there is one: a client certificate needs none. Raises ClusterUnavailable."""
    if isinstance(server, CertificateServer):
        return {}
    return {"Authorization": f"Bearer {server.token()}"} if isinstance(server, BearerServer) else _of_client(server)


def _of_client(configuration: Configuration) -> dict[str, str]:
    # Only here: where there is a Configuration, the client has been imported.
    from kubernetes.config import ConfigException

    try:
        token = configuration.get_api_key_with_prefix("BearerToken", "authorization")
    except (ConfigException, OSError) as error:
        raise ClusterUnavailable(f"the credentials for {configuration.host} cannot be renewed: {error}") from error
    if token:
        # A token that was written with an editor ends with a line break, which no header may have.
        return {"Authorization": token.strip()}
    if configuration.username:
        return {"Authorization": configuration.get_basic_auth_token() or ""}
    return {}
