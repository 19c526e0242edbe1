"""A browser's key pair, as the page makes it."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


class Browser:
    """key: the public part."""

    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())
        point = self._private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.key = encoded(point)

    def sign(self, origin: str, challenge: str) -> str:
        """A signature of the form that Web Crypto gives."""
        text = f"berth console session\n{origin}\n{challenge}".encode()
        r, s = decode_dss_signature(self._private.sign(text, ec.ECDSA(SHA256())))
        return encoded(r.to_bytes(32) + s.to_bytes(32))

    def proof(self, origin: str, challenge: str) -> str:
        """For the header field Authorization."""
        return f"Proof {self.key}.{challenge}.{self.sign(origin, challenge)}"
