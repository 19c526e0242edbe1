"""The extender's `tlsConfig`: from files that are named, or from what is in them."""

from __future__ import annotations

import ssl
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from berth_cli.scheduler_config.extenders import Entry
from berth_cli.scheduler_config.second_scheduler import CA, CONFIGURATION_FOLDER, TLS_FOLDER


class UnusableFile(Exception):
    """A certificate or a key cannot be read or used. The message names the file, and nothing of its content."""


@dataclass(frozen=True, slots=True)
class Files:
    """Paths as they were given. The key belongs to the certificate; the CA is the server's."""

    certificate: Path | None = None
    key: Path | None = None
    ca: Path | None = None

    @property
    def given(self) -> bool:
        return any((self.certificate, self.key, self.ca))


@dataclass(frozen=True, slots=True)
class Content:
    """What is in the files, checked; empty where there is none."""

    certificate: bytes = b""
    key: bytes = b""
    ca: bytes = b""


def by_path(files: Files) -> Entry:
    """Paths where the scheduler runs: nothing needs to be there on this machine."""
    named = {"certFile": files.certificate, "keyFile": files.key, "caFile": files.ca}
    return {name: str(path) for name, path in named.items() if path is not None}


def by_content(content: Content) -> Entry:
    """Everything inside the document, the private key too."""
    named = {"certData": content.certificate, "keyData": content.key, "caData": content.ca}
    return {name: b64encode(data).decode() for name, data in named.items() if data}


def by_mount(*, client: bool, ca: bool) -> Entry:
    """Paths in the second scheduler's container."""
    entry: Entry = {}
    if client:
        entry |= {"certFile": f"{TLS_FOLDER}/tls.crt", "keyFile": f"{TLS_FOLDER}/tls.key"}
    if ca:
        entry["caFile"] = f"{CONFIGURATION_FOLDER}/{CA}"
    return entry


def read(files: Files) -> Content:
    """Raises UnusableFile, also when key and certificate are not of one pair."""
    content = Content(_bytes(files.certificate), _bytes(files.key), _bytes(files.ca))
    if files.certificate is not None and files.key is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(files.certificate, files.key, _no_passphrase)
        except (OSError, ValueError) as error:
            raise UnusableFile(
                f"{files.certificate} and {files.key} are not a certificate and its unencrypted key, in PEM "
                f"({_cause(error)})"
            ) from error
    if files.ca is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(files.ca)
        except (OSError, ValueError) as error:
            raise UnusableFile(f"{files.ca} has no certificate in PEM ({_cause(error)})") from error
    return content


def _bytes(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnusableFile(f"{path}: {error.strerror}") from error


def _no_passphrase() -> str:
    """Else OpenSSL would ask for it on the terminal, as kube-scheduler could not."""
    raise ValueError("the key is encrypted")


def _cause(error: Exception) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) else "") or str(error)
