"""One connection to a Kubernetes API server: JSON in, JSON out, nothing repeated, nothing hidden.

Authentication and TLS are the official client's. Its models are not used: they validate an answer after the server has
acted on the request, and cost more than the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes.client.rest import RESTClientObject

if TYPE_CHECKING:
    from kubernetes.client import Configuration

MAX_IDLE_SECONDS = 30.0
"""Longer, and the socket may have died while the environment was frozen: a request on it would hang."""

JSON = "application/json"
APPLY = "application/apply-patch+yaml"


class ApiServerUnreachable(Exception):
    """No answer came. The request may have been carried out all the same."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` is HTTP's, `content` the decoded JSON object, empty where there was none."""

    status: int
    content: Mapping[str, object]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The server's own words, from its `Status` object."""
        message = self.content.get("message")
        return message if isinstance(message, str) and message else f"the API server answered {self.status}"


class ApiServer:
    """May be shared between threads."""

    def __init__(self, configuration: Configuration, clock: Callable[[], float]) -> None:
        self._configuration = configuration
        self._pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
        self._clock = clock
        self._last_used = clock()
        self._lock = Lock()

    def request(
        self,
        method: str,
        path: str,
        *,
        timeout: float,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Answer:
        """Send one request; `timeout` in seconds covers connecting and reading. Raises ApiServerUnreachable."""
        self._drop_idle_connections()
        url = self._configuration.host + path + ("?" + urlencode(query) if query else "")
        try:
            response = self._pool.request(
                method,
                url,
                body=None if body is None else orjson.dumps(body),
                headers=self._headers(content_type),
                timeout=urllib3.Timeout(total=timeout),
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise ApiServerUnreachable(_cause(error, self._configuration.host)) from error
        return Answer(response.status, _content(response.data))

    def _drop_idle_connections(self) -> None:
        with self._lock:
            now = self._clock()
            if now - self._last_used > MAX_IDLE_SECONDS:
                self._pool.clear()
            self._last_used = now

    def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"Accept": JSON, "Content-Type": content_type}
        # Asked for on every request: the client renews a token from a file or from an exec plugin here.
        token = self._configuration.get_api_key_with_prefix("BearerToken", "authorization")
        if token:
            headers["Authorization"] = token
        elif self._configuration.username:
            headers["Authorization"] = self._configuration.get_basic_auth_token() or ""
        return headers


def _content(data: bytes) -> Mapping[str, object]:
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def _cause(error: urllib3.exceptions.HTTPError, host: str) -> str:
    if isinstance(error, urllib3.exceptions.SSLError):
        return f"the certificate of {host} is not trusted; set certificate-authority-data in the kubeconfig ({error})"
    if isinstance(error, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError):
        return f"{host} cannot be reached; check the kubeconfig's server and the network to it"
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return f"{host} did not answer in time"
    return f"the connection to {host} broke ({type(error).__name__})"
