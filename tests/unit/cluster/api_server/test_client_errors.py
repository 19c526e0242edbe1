"""Error texts of requests without an answer."""

from __future__ import annotations

import ssl

import pytest
import urllib3
from urllib3.exceptions import ProtocolError, ReadTimeoutError, SSLError

from berth.cluster.api_server.client import unreachable

HOST = "https://10.0.0.1:6443"
POOL = urllib3.HTTPConnectionPool("10.0.0.1")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(
            SSLError(ssl.SSLCertVerificationError("self-signed certificate")),
            f"the certificate of {HOST} is not trusted; set certificate-authority-data in the kubeconfig "
            "or the EKS settings (('self-signed certificate',))",
            id="a certificate that is not trusted",
        ),
        pytest.param(
            SSLError(ssl.SSLError("wrong version number")),
            f"TLS with {HOST} failed (('wrong version number',))",
            id="plain HTTP server",
        ),
        pytest.param(ReadTimeoutError(POOL, "/", "read timed out"), f"{HOST} did not answer in time", id="timeout"),
        pytest.param(
            ProtocolError("aborted"), f"the connection to {HOST} broke (ProtocolError)", id="broken connection"
        ),
    ],
)
def test_error_names_cause_and_remedy(error: urllib3.exceptions.HTTPError, message: str) -> None:
    assert str(unreachable(error, HOST)) == message
