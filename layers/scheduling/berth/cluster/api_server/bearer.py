"""An API server that takes a bearer token: an EKS cluster, the one that this pod runs in, or that of a kubeconfig.

Other kubeconfigs need the Kubernetes client. An address, an authority and a token do not, and importing the client
takes a sixth of the time in which bind starts.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import urllib3

if TYPE_CHECKING:
    from kubernetes.client import Configuration


@dataclass(frozen=True, slots=True, eq=False)
class BearerServer:
    """host: begins with https://. authority: certificates as PEM, or a file of them that may change; the server's own
    must be signed by one. None: those of the system. token: asked on every request; raises ClusterUnavailable."""

    host: str
    authority: str | Path | None
    token: Callable[[], str]

    def pool(self) -> urllib3.PoolManager:
        """A new pool of connections without a proxy."""
        if isinstance(self.authority, Path):
            return urllib3.PoolManager(cert_reqs=ssl.CERT_REQUIRED, ca_certs=str(self.authority))
        return urllib3.PoolManager(cert_reqs=ssl.CERT_REQUIRED, ca_cert_data=self.authority)

    def configuration(self) -> Configuration:
        """Address and authority, as the Kubernetes client has them."""
        from kubernetes.client import Configuration

        configuration = Configuration()
        configuration.host = self.host
        if isinstance(self.authority, Path):
            configuration.ssl_ca_cert = str(self.authority)
        elif self.authority is not None:
            configuration.ca_cert_data = self.authority
        return configuration
