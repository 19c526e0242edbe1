"""The Kubernetes API as JSON: verbs, errors and watches, independent of kinds.

Objects stay JSON here; `cluster` converts them into the types of the tests.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode

import urllib3

JsonObject: TypeAlias = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
# The server ends a watch after its timeout; a longer silence means a broken connection.
WATCH_GRACE_SECONDS = 5
# Longer than the API server lets a request take. Without a limit, a hanging call would hide the error.
CALL_SECONDS = 90.0


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True)
class Credentials:
    """Address, CA and token of a user of the API server."""

    server: str
    ca_file: Path
    token: str

    def kubeconfig(self) -> JsonObject:
        authority = b64encode(self.ca_file.read_bytes()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {"server": self.server, "certificate-authority-data": authority}}],
            "users": [{"name": "e2e", "user": {"token": self.token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
            "current-context": "e2e",
        }


def answers_readyz(server: str, ca_file: Path) -> bool:
    """Return whether an API server or a scheduler is ready; both write `ca_file` while they start."""
    if not ca_file.exists():
        return False
    with urllib3.PoolManager(ca_certs=str(ca_file), retries=False) as pool:
        try:
            return pool.request("GET", f"{server}/readyz").status == 200
        except urllib3.exceptions.HTTPError:
            return False


@dataclass(frozen=True)
class Impersonated:
    """The user whom an administrator impersonates for the API server's admission; the user's groups have the rights."""

    user: str
    groups: tuple[str, ...] = ()


class KubernetesApi:
    def __init__(self, credentials: Credentials, impersonated: Impersonated | None = None) -> None:
        self._server = credentials.server
        self._headers = urllib3.HTTPHeaderDict(
            {"Authorization": f"Bearer {credentials.token}", "Accept": "application/json"}
        )
        if impersonated is not None:
            self._headers["Impersonate-User"] = impersonated.user
            for group in impersonated.groups:
                self._headers.add("Impersonate-Group", group)
        self._pool = urllib3.PoolManager(ca_certs=str(credentials.ca_file), retries=False)

    def get(self, path: str) -> JsonObject:
        return self._call("GET", path)

    def serves(self, path: str) -> bool:
        """Return whether the API server serves the path and can answer a read of it now."""
        try:
            self.get(path)
        except ApiError as error:
            # 429: the API server is preparing the storage of a new resource.
            if error.status not in (404, 429):
                raise
            return False
        return True

    def create(self, path: str, body: JsonObject) -> JsonObject:
        return self._call("POST", path, body)

    def replace(self, path: str, body: JsonObject) -> JsonObject:
        return self._call("PUT", path, body)

    def patch(self, path: str, body: JsonObject) -> JsonObject:
        return self._call("PATCH", path, body, content_type=MERGE_PATCH)

    def apply(self, path: str, body: JsonObject) -> JsonObject:
        """Create or update the object (server-side apply)."""
        query = {"fieldManager": "e2e", "force": "true", "fieldValidation": "Strict"}
        return self._call("PATCH", path, body, content_type=APPLY_PATCH, query=query)

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> JsonObject:
        return self._call("DELETE", path, query=query)

    def watch(self, path: str, query: Mapping[str, str], *, seconds: int) -> Iterator[JsonObject]:
        """Yield the watch events of this many seconds: `ADDED` for each current object, then the changes."""
        answer = self._pool.request(
            "GET",
            self._server + path,
            fields={**query, "watch": "true", "timeoutSeconds": str(seconds)},
            headers=self._headers,
            preload_content=False,
            timeout=urllib3.Timeout(connect=5, read=seconds + WATCH_GRACE_SECONDS),
        )
        try:
            if answer.status != 200:
                raise ApiError(answer.status, answer.read().decode(errors="replace"))
            for line in answer:
                yield json.loads(line)
        finally:
            answer.close()

    def _call(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        *,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> JsonObject:
        headers = self._headers.copy()
        headers["Content-Type"] = content_type
        answer = self._pool.request(
            method,
            f"{self._server}{path}?{urlencode(query or {})}",
            headers=headers,
            body=None if body is None else json.dumps(body).encode(),
            timeout=CALL_SECONDS,
        )
        if answer.status >= 300:
            raise ApiError(answer.status, answer.data.decode(errors="replace"))
        decoded: JsonObject = json.loads(answer.data)
        return decoded
