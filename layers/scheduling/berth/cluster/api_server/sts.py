"""A presigned GetCallerIdentity of AWS STS: it proves the identity of the credentials to the receiver.

Signature Version 4 in query parameters. botocore signs too, but with its own clock.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

_ALGORITHM = "AWS4-HMAC-SHA256"
_SERVICE = "sts"
_OPERATION = {"Action": "GetCallerIdentity", "Version": "2011-06-15"}
_EMPTY_BODY = hashlib.sha256(b"").hexdigest()

# By the beginning of a region's name; of the partitions that EKS is in, the others share the commercial suffix.
_DNS_SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "us-isof-": "csp.hci.ic.gov",
}
_COMMERCIAL_SUFFIX = "amazonaws.com"


def regional_host(region: str) -> str:
    """STS in that region: the global endpoint is slower, and off in some accounts."""
    suffix = next((suffix for start, suffix in _DNS_SUFFIXES.items() if region.startswith(start)), _COMMERCIAL_SUFFIX)
    return f"{_SERVICE}.{region}.{suffix}"


def presigned_get_caller_identity(
    credentials: ReadOnlyCredentials, region: str, headers: Mapping[str, str], *, at: float, expires: int
) -> str:
    """The presigned URL. The request must have these `headers` (names in lower case), which are signed too.

    `at`: seconds since the epoch; `expires`: for how many seconds from then STS accepts it.
    """
    host = regional_host(region)
    now = datetime.fromtimestamp(at, UTC)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    scope = f"{day}/{region}/{_SERVICE}/aws4_request"
    signed = dict(sorted({**headers, "host": host}.items()))
    parameters = _OPERATION | {
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(expires),
        "X-Amz-SignedHeaders": ";".join(signed),
    }
    if credentials.token:
        parameters["X-Amz-Security-Token"] = credentials.token
    canonical_request = "\n".join(
        [
            "GET",
            "/",
            _query(dict(sorted(parameters.items()))),
            *(f"{name}:{' '.join(value.split())}" for name, value in signed.items()),
            "",
            ";".join(signed),
            _EMPTY_BODY,
        ]
    )
    to_sign = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256(canonical_request.encode()).hexdigest()])
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (day, region, _SERVICE, "aws4_request"):
        key = _hmac(key, part)
    return f"https://{host}/?{_query(parameters)}&X-Amz-Signature={_hmac(key, to_sign).hex()}"


def _query(parameters: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in parameters.items())


def _hmac(key: bytes, message: str) -> bytes:
    return hmac.new(key, message.encode(), hashlib.sha256).digest()
