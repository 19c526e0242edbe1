"""The TLS material of the scheduler: PEM texts from its configuration or from local files."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass, field
from pathlib import Path

from berth_cli.doctor.scheduler.configuration import TLSConfig
from berth_cli.scheduler_config.tls_config import TLSFiles


class CredentialsUnreadable(Exception):
    """The message names the file or field and quotes nothing of its content."""


class CredentialsMissing(CredentialsUnreadable):
    """The files are on the scheduler's machine, not on this one."""


@dataclass(frozen=True, slots=True)
class TLSMaterial:
    """PEM; empty if not configured. `server_name`: expected name in the certificate; default: the address's host."""

    ca: bytes = b""
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    server_name: str = ""


NO_MATERIAL = TLSMaterial()


def load_tls_material(config: TLSConfig | None, given: TLSFiles) -> TLSMaterial:
    """Load the TLS material. `given`: local files; they override the paths of the configuration.

    Raises CredentialsUnreadable.
    """
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
            raise CredentialsUnreadable("the data in tlsConfig is not base64") from None
    source = given or (Path(path) if path else None)
    if source is None:
        return b""
    try:
        return source.read_bytes()
    except OSError as error:
        hint = "" if given else f"; the file is on the scheduler's machine: give a copy with {option}"
        raise CredentialsMissing(f"{source}: {error.strerror}{hint}") from error
