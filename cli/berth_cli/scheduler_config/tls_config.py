"""The extender's `tlsConfig`: from file paths, or from the content of the files."""

from __future__ import annotations

import ssl
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from berth_cli.options import TLSFiles
from berth_cli.scheduler_config.extenders import Entry
from berth_cli.scheduler_config.second_scheduler import CA, CONFIGURATION_FOLDER, TLS_FOLDER


class InvalidTLSFile(Exception):
    """A certificate or key cannot be read or used. The message names the file and quotes nothing of its content."""


@dataclass(frozen=True, slots=True)
class TLSContent:
    """Validated content of the files; empty if a file is not given."""

    certificate: bytes = b""
    key: bytes = b""
    ca: bytes = b""


def by_path(files: TLSFiles) -> Entry:
    """Refer to paths on the scheduler's machine; the files need not exist here."""
    named = {"certFile": files.certificate, "keyFile": files.key, "caFile": files.ca}
    return {name: str(path) for name, path in named.items() if path is not None}


def by_content(content: TLSContent) -> Entry:
    """Embed the content, including the private key."""
    named = {"certData": content.certificate, "keyData": content.key, "caData": content.ca}
    return {name: b64encode(data).decode() for name, data in named.items() if data}


def by_mount(*, client: bool, ca: bool) -> Entry:
    """Refer to paths in the second scheduler's container."""
    entry: Entry = {}
    if client:
        entry |= {"certFile": f"{TLS_FOLDER}/tls.crt", "keyFile": f"{TLS_FOLDER}/tls.key"}
    if ca:
        entry["caFile"] = f"{CONFIGURATION_FOLDER}/{CA}"
    return entry


def read(files: TLSFiles) -> TLSContent:
    """Read the files. Raises InvalidTLSFile, also if key and certificate do not match."""
    content = TLSContent(_bytes(files.certificate), _bytes(files.key), _bytes(files.ca))
    if files.certificate is not None and files.key is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(files.certificate, files.key, _reject_passphrase)
        except (OSError, ValueError) as error:
            raise InvalidTLSFile(
                f"{files.certificate} and {files.key} are not a certificate and its unencrypted key, in PEM "
                f"({_cause(error)})"
            ) from error
    if files.ca is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(files.ca)
        except (OSError, ValueError) as error:
            raise InvalidTLSFile(f"{files.ca} contains no certificate in PEM ({_cause(error)})") from error
    return content


def _bytes(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidTLSFile(f"{path}: {error.strerror}") from error


def _reject_passphrase() -> str:
    """Prevents OpenSSL from asking for the passphrase; kube-scheduler cannot use an encrypted key."""
    raise ValueError("the key is encrypted")


def _cause(error: Exception) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) else "") or str(error)
