"""Events that the HTTP API sends to its authorizer, in payload format 2.0."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from tests.builders.events import http_event

OPENSSL_TIME = "%b %d %H:%M:%S %Y GMT"


def basic(username: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


def basic_event(*identity: object) -> dict[str, object]:
    """Return an event with these identity-source values; usually one, the Authorization header."""
    return _request() | {"identitySource": list(identity)}


def certificate_event(serial: object, not_before: float, not_after: float) -> dict[str, object]:
    """Return an event with the client certificate that the gateway verified; times in seconds since the epoch."""
    certificate = {
        "clientCertPem": "-----BEGIN CERTIFICATE-----",
        "subjectDN": "CN=scheduler,O=my-cluster",
        "issuerDN": "CN=Berth,O=my-cluster",
        "serialNumber": serial,
        "validity": {"notBefore": openssl_time(not_before), "notAfter": openssl_time(not_after)},
    }
    return with_client_certificate(certificate)


def with_client_certificate(certificate: object) -> dict[str, object]:
    """Return an event with this description of a client certificate."""
    event = _request() | {"identitySource": ["POST /scheduler/filter"]}
    context = event["requestContext"]
    assert isinstance(context, dict)
    return event | {"requestContext": context | {"authentication": {"clientCert": certificate}}}


def openssl_time(seconds: float) -> str:
    """Format a time as in certificates, `Aug  5 09:36:04 2021 GMT`."""
    return datetime.fromtimestamp(seconds, UTC).strftime(OPENSSL_TIME)


def _request() -> dict[str, object]:
    event = http_event(None)
    del event["body"], event["isBase64Encoded"]
    return event | {
        "type": "REQUEST",
        "routeArn": "arn:aws:execute-api:eu-central-1:1:a/$default/POST/scheduler/filter",
    }
