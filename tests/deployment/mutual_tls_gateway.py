"""The gateway's part of mutual TLS, which the emulator lacks: a domain name that requests a client's certificate.

It terminates TLS on loopback, verifies the chain against the trust store, and passes the call with the certificate to
the emulator's API. It counts answers by status, as API Gateway does; a handshake that fails is not a call.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from berth_cli.installation.certificate_directory import CertificateDirectory
from tests.builders.certificates import self_signed
from tests.chaos.faulty_proxy import FaultyProxy

from .emulator import Emulator

DAY = timedelta(days=1)
CERTIFICATE_HEADER = "x-emulator-client-certificate"
"""The same name as in ministack_process, which another interpreter runs."""


class MutualTLSGateway(FaultyProxy):
    """Serves one stack of the emulator until the context exits. `directory`: of `berth certificates`."""

    def __init__(self, emulator: Emulator, home: Path) -> None:
        self._emulator = emulator
        self.answers: list[tuple[float, int]] = []
        """Time and status of each call."""
        self.certificate, key = self_signed(home, "gateway", ends=90 * DAY)
        self.directory = CertificateDirectory(home / "certificates")
        self.directory.create("emulator", datetime.now(UTC) - 10 * DAY, 3650 * DAY)
        self.client = self.directory.issue("scheduler", datetime.now(UTC), 90 * DAY)
        super().__init__(emulator.endpoint_url, own=(self.certificate, key), client_ca=self.directory.authority_file)

    @property
    def url_prefix(self) -> str:
        return f"{self.url}/scheduler"

    def parameters(self) -> dict[str, str]:
        """Return the stack's parameters: this address as its domain name. The emulator ignores the trust store."""
        return {
            "Authentication": "mtls",
            "DomainName": self.url.removeprefix("https://"),
            "DomainCertificateArn": f"arn:aws:acm:eu-central-1:{self._emulator.account}:certificate/emulator",
            "TruststoreUri": "s3://berth-trust/truststore.pem?versionId=1",
        }

    def passed_on(self, path: str, client: socket.socket) -> tuple[str, dict[str, str]]:
        assert isinstance(client, ssl.SSLSocket)
        shown = client.getpeercert() or {}
        described = {
            "serialNumber": shown["serialNumber"],
            "validity": {"notBefore": shown["notBefore"], "notAfter": shown["notAfter"]},
        }
        header = base64.b64encode(json.dumps(described).encode()).decode()
        return f"/_aws/execute-api/{self._api}/$default{path}", {CERTIFICATE_HEADER: header}

    def answered(self, status: int) -> None:
        self.answers.append((time.time(), status))

    @cached_property
    def _api(self) -> str:
        [api] = self._emulator.client("apigatewayv2").get_apis()["Items"]
        found: Mapping[str, str] = api
        return found["ApiId"]
