"""What a running `berth serve` says of its tables, by its routes /reservations and /gangs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth_cli.doctor.access.credentials import CredentialsUnreadable, load_tls_material
from berth_cli.doctor.access.endpoint import NoResponse
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
    try:
        answer = HTTPSEndpoint(url, load_tls_material(None, files), CALL_SECONDS).get(route)
    except CredentialsUnreadable as error:
        raise ServerUnavailable(str(error)) from error
    content = json_object(answer) or {}
    if isinstance(answer, NoResponse):
        raise ServerUnavailable(f"{url}: {answer.cause}")
    if answer.status != 200 or route not in content:
        reason = content.get("reason") or "is it a berth serve of this release?"
        raise ServerUnavailable(f"{url}: /{route} answers {answer.status}; {reason}")
    return content
