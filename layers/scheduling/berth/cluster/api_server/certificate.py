"""An API server that knows us by a client certificate, which a kubeconfig has as data.

As with a token, the Kubernetes client is not needed for that, and a cold start need not wait for its import.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import urllib3


@dataclass(frozen=True, slots=True, eq=False)
class CertificateServer:
    """host: begins with https://. context: has our certificate, and the authorities of the server's."""

    host: str
    context: ssl.SSLContext

    def pool(self) -> urllib3.PoolManager:
        """A new pool of connections without a proxy."""
        return urllib3.PoolManager(ssl_context=self.context)


def client_context(authority: str | None, certificate: str, key: str) -> ssl.SSLContext | None:
    """PEM texts; authority None: those of the system. None where they do not belong together, or are none."""
    # Only here: most functions have a token.
    from tempfile import NamedTemporaryFile

    try:
        context = ssl.create_default_context(cadata=authority)
        # Python loads a key from a file only. It is readable by nobody else, and gone afterwards.
        with NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{certificate}\n{key}\n")
            file.flush()
            # Without a password OpenSSL would ask a terminal for that of an encrypted key.
            context.load_cert_chain(file.name, password="")
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        return None
    return context
