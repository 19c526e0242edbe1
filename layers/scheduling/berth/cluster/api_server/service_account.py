"""The service account of the pod this runs in: its token, which the kubelet replaces while we run, and its CA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from berth.cluster.api_server.bearer import BearerServer
from berth.nodecache.feed.cluster import ClusterUnavailable

MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 60.0
"""As client-go does. The kubelet replaces a token when a fifth of its life is left, minutes at the least."""


def from_service_account(environ: Mapping[str, str], clock: Callable[[], float], mount: Path = MOUNT) -> BearerServer:
    """Raises ClusterUnavailable."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ClusterUnavailable(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a pod; run it "
            "in one, or give a kubeconfig"
        )
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    authority = mount / "ca.crt"
    if not _read(authority):
        # Without one TLS would take the system's authorities, and trust a server that is not the cluster's.
        raise ClusterUnavailable(
            f"{authority} is empty: the service account has no certificate authority; it comes from "
            "the ConfigMap kube-root-ca.crt of the pod's namespace"
        )
    token = _TokenFile(mount / "token", clock)
    token.current()
    return BearerServer(address, authority, token.current)


class _TokenFile:
    """Threads may refresh at the same time: they read the same file."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._last: tuple[float, str] | None = None

    def current(self) -> str:
        now, last = self._clock(), self._last
        if last is not None and 0 <= now - last[0] < REREAD_SECONDS:
            return last[1]
        token = _read(self._path).strip()
        if not token:
            raise ClusterUnavailable(
                f"{self._path} is empty: the service account has no token; the kubelet writes it: "
                "see the events of the pod"
            )
        self._last = now, token
        return token


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise ClusterUnavailable(f"{path}: {error.strerror}; is a service account mounted?") from error
