"""Calls the verbs under a `urlPrefix`."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import unquote, urlsplit

import urllib3

from tests.e2e.kubernetes.loopback import HOST


class Endpoint:
    """POSTs to `<urlPrefix>/<verb>` as kube-scheduler does: credentials in the prefix become Basic authentication."""

    def __init__(self, url_prefix: str) -> None:
        parts = urlsplit(url_prefix)
        if parts.hostname is None:
            raise ValueError(f"not a urlPrefix: {url_prefix}")
        # Names under .localhost are this machine (RFC 6761), but not every resolver supports them.
        address = HOST if parts.hostname.endswith(".localhost") else parts.hostname
        self._pool = urllib3.connection_from_url(f"{parts.scheme}://{address}:{parts.port or ''}", maxsize=8)
        self._path = parts.path.rstrip("/")
        self._headers = {"Host": parts.netloc.rpartition("@")[2], "Content-Type": "application/json"}
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"

    def get(self, path: str) -> urllib3.BaseHTTPResponse:
        """Return the response to a GET, whatever its status is."""
        return self._pool.urlopen("GET", f"{self._path}/{path}", headers=self._headers, redirect=False, retries=False)

    def post(self, verb: str, body: bytes) -> urllib3.BaseHTTPResponse:
        """Return the response, whatever its status is. Does not follow redirects and does not retry."""
        return self._pool.urlopen(
            "POST", f"{self._path}/{verb}", body=body, headers=self._headers, redirect=False, retries=False
        )
