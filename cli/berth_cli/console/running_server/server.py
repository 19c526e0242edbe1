"""The routes of a running `berth serve` as documents, and why one cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from berth_cli.sources.server import Endpoint, NoResponse, json_object


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is no document, with the address. status: of the answer; 0 without one."""

    reason: str
    status: int = 0


class RunningServer:
    """Safe to share between threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @property
    def address(self) -> str:
        """The urlPrefix without credentials."""
        return self._endpoint.address

    def document(self, route: str, member: str) -> Mapping[str, Any] | NoAnswer:
        """What GET of the route answers. member: a key that its document has."""
        answer = self._endpoint.get(route)
        if isinstance(answer, NoResponse):
            return NoAnswer(f"{self.address}: {answer.cause}")
        content = json_object(answer) or {}
        if answer.status == 200 and member in content:
            return content
        reason = content.get("reason") or content.get("Error") or "is it a berth serve of this release?"
        return NoAnswer(f"{self.address}: /{route} answers {answer.status}; {reason}", answer.status)

    def health(self) -> Mapping[str, Any] | NoAnswer:
        """What /healthz?verbose answers, also where the verbs cannot decide."""
        answer = self._endpoint.healthz()
        if isinstance(answer, NoResponse):
            return NoAnswer(f"{self.address}: {answer.cause}; is berth serve running there?")
        content = json_object(answer) or {}
        if isinstance(content.get("status"), str):
            return content
        reason = content.get("Error") or "is it a berth serve?"
        return NoAnswer(f"{self.address}: /healthz answers {answer.status}; {reason}", answer.status)
