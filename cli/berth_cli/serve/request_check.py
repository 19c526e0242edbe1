"""Requests that a web page can make a browser send are refused: the callers of the local server are programs.

A page can send a POST to another site without asking only with the content types of a form. A page whose name resolves
to this machine (DNS rebinding) sends that name as Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

JSON_REQUIRED = "the request needs the header Content-Type: application/json"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The status and the text of `Error`."""

    status: int
    error: str


@dataclass(frozen=True, slots=True)
class RequestCheck:
    """`host_names`: names that callers use besides IP addresses and localhost; None accepts every name.

    An IP address as Host is safe: a browser that shows a page of that address was not redirected by a name.
    """

    host_names: frozenset[str] | None = frozenset()

    def refusal(self, method: str, headers: Mapping[str, str]) -> Refusal | None:
        """Why the request is refused, judged by its header; None if it is not."""
        return self._host_refusal(headers.get("host")) or _content_type_refusal(method, headers.get("content-type", ""))

    def _host_refusal(self, host: str | None) -> Refusal | None:
        if self.host_names is None:
            return None
        if host is None:
            return Refusal(400, "the request has no Host header; send one, such as Host: localhost")
        name = _host_name(host)
        if name in self.host_names or name == "localhost" or _is_address(name):
            return None
        return Refusal(421, f"unknown Host {name[:253]}; start berth serve with --allowed-host to accept this name")


def _content_type_refusal(method: str, content_type: str) -> Refusal | None:
    if method != "POST" or content_type.partition(";")[0].strip().lower() == "application/json":
        return None
    return Refusal(415, JSON_REQUIRED)


def _host_name(host: str) -> str:
    """Without port and brackets, in lower case and without the root's dot."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    return name.strip().lower().removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
