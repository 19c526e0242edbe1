"""What the scheduler shows and trusts: PEM texts, from the configuration itself or from files that are here."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass, field
from pathlib import Path

from berth_cli.doctor.scheduler.configuration import TLSConfig
from berth_cli.scheduler_config.tls_config import Files


class CredentialsUnreadable(Exception):
    """The message names file or field, and nothing of the content."""


class CredentialsAbsent(CredentialsUnreadable):
    """They are not on this machine, which is not the scheduler's."""


@dataclass(frozen=True, slots=True)
class TLSMaterial:
    """PEM; empty where there is none. server_name: what the certificate must be for, by default the address's host."""

    ca: bytes = b""
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    server_name: str = ""


NO_MATERIAL = TLSMaterial()


def material(config: TLSConfig | None, given: Files) -> TLSMaterial:
    """`given`: files on this machine, which go before the scheduler's, whose paths are on another. Raises
    CredentialsUnreadable."""
    config = config or TLSConfig()
    return TLSMaterial(
        ca=_pem(given.ca, config.ca_data, config.ca_file, "--ca"),
        certificate=_pem(given.certificate, config.cert_data, config.cert_file, "--tls-client-cert"),
        key=_pem(given.key, config.key_data, config.key_file, "--tls-client-key"),
        server_name=config.server_name,
    )


def _pem(given: Path | None, data: str, path: str, option: str) -> bytes:
    if given is None and data:
        try:
            return b64decode(data, validate=True)
        except (NotBase64, ValueError):
            raise CredentialsUnreadable("tlsConfig's data is not base64") from None
    found = given or (Path(path) if path else None)
    if found is None:
        return b""
    try:
        return found.read_bytes()
    except OSError as error:
        hint = "" if given else f"; it is where the scheduler runs: give a copy with {option}"
        raise CredentialsAbsent(f"{found}: {error.strerror}{hint}") from error
