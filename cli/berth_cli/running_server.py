"""What a running `berth serve` says of its tables, by its routes /reservations and /gangs, and what it does there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from berth_cli.doctor.access.credentials import CredentialsUnreadable, load_tls_material
from berth_cli.doctor.access.endpoint import HttpResponse, NoResponse
from berth_cli.doctor.access.https_endpoint import HTTPSEndpoint
from berth_cli.doctor.access.running import json_object
from berth_cli.scheduler_config.tls_config import TLSFiles

CALL_SECONDS = 30.0


class ServerUnavailable(Exception):
    """The server did not answer with the document. The message names address and cause."""


def running_document(url: str, files: TLSFiles, route: str) -> Mapping[str, Any]:
    """The document of a route, which has a field of the route's name, of the server behind the urlPrefix.

    Raises ServerUnavailable.
    """
    return _content(url, files, lambda endpoint: endpoint.get(route), route, route)


def answer_of_server(url: str, files: TLSFiles, route: str, body: bytes, field: str) -> Mapping[str, Any]:
    """What a POST to this route answers, which has this field. body: JSON.

    Raises ServerUnavailable; the server may have done it all the same.
    """
    return _content(url, files, lambda endpoint: endpoint.post(route, body), route, field)


def _content(
    url: str, files: TLSFiles, call: Callable[[HTTPSEndpoint], HttpResponse | NoResponse], route: str, field: str
) -> Mapping[str, Any]:
    try:
        answer = call(HTTPSEndpoint(url, load_tls_material(None, files), CALL_SECONDS))
    except CredentialsUnreadable as error:
        raise ServerUnavailable(str(error)) from error
    content = json_object(answer) or {}
    if isinstance(answer, NoResponse):
        raise ServerUnavailable(f"{url}: {answer.cause}")
    if answer.status != 200 or field not in content:
        reason = content.get("reason") or "is it a berth serve of this release?"
        raise ServerUnavailable(f"{url}: /{route} answers {answer.status}; {reason}")
    return content
