"""A kubeconfig: the address of the API server and the credentials for it, from a file or from Secrets Manager.

A file belongs to the user who runs Berth: it may name other files and commands, as for kubectl. A secret is data: a
user who may write it must not be able to run a command in the function, read its files or redirect its traffic. In
both, the server is https and is verified. Messages name cause and remedy, and quote only field names of the content.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies

import yaml
from botocore.exceptions import BotoCoreError, ClientError

from berth.cluster.api_server.access import BearerServer, CertificateServer, Server, client_context
from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from kubernetes.client import Configuration
    from mypy_boto3_secretsmanager.client import SecretsManagerClient


CLUSTER_FIELDS = frozenset({"server", "certificate-authority-data"})
"""The fields of the cluster that a secret may have."""

USER_FIELDS = frozenset({"token", "client-certificate-data", "client-key-data"})
"""The fields of the user that a secret may have."""


def from_file(path: Path) -> Server:
    """Read the server. Exec plugins and files are used as in kubectl. Raises ClusterUnavailable."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ClusterUnavailable(f"kubeconfig {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ClusterUnavailable(f"kubeconfig {path} is not text") from error
    where = f"kubeconfig {path}"
    document = _document(text, where)
    _resolve_paths(document, path.parent)
    return _server(document, where)


def from_secret(client: SecretsManagerClient, secret_id: str) -> Server:
    """Read the current context, which may have only `CLUSTER_FIELDS` and `USER_FIELDS`. Raises ClusterUnavailable."""
    where = "the kubeconfig secret"
    try:
        text = client.get_secret_value(SecretId=secret_id).get("SecretString", "")
    except (ClientError, BotoCoreError) as error:
        raise ClusterUnavailable(f"{where} cannot be read: {error}") from error
    return _server(_data_only(_document(text, where), where), where)


def _document(text: str, where: str) -> dict[str, object]:
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that does not exist
        # Not the parser's own message: it quotes the line, and lines of a kubeconfig are credentials.
        raise ClusterUnavailable(f"{where} is not YAML") from error
    if not isinstance(document, dict):
        raise ClusterUnavailable(f"{where} is not a kubeconfig")
    return document


def _data_only(document: dict[str, object], where: str) -> dict[str, object]:
    """Return a kubeconfig of the current context alone, which has only data in it."""
    context = _by_name(document, "contexts", "context").get(document.get("current-context"))
    if context is None:
        raise ClusterUnavailable(
            f"{where} has no context of the name in current-context; set it with: kubectl config use-context NAME"
        )
    cluster = _by_name(document, "clusters", "cluster").get(context.get("cluster"), {})
    user = _by_name(document, "users", "user").get(context.get("user"), {})
    if cluster.get("insecure-skip-tls-verify") is False:
        cluster = {name: value for name, value in cluster.items() if name != "insecure-skip-tls-verify"}
    _refuse_other_fields(cluster, CLUSTER_FIELDS, "cluster", where)
    _refuse_other_fields(user, USER_FIELDS, "user", where)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
        "current-context": "context",
    }


def _refuse_other_fields(fields: Mapping[str, object], allowed: frozenset[str], section: str, where: str) -> None:
    for name, value in fields.items():
        if name == "insecure-skip-tls-verify":
            raise ClusterUnavailable(_UNVERIFIED.format(where=where))
        if name not in allowed:
            raise ClusterUnavailable(
                f"{where}: {section} has the field {str(name)[:64]!r}, which a secret must not have; "
                f"it may have {', '.join(sorted(allowed))}"
            )
        if not isinstance(value, str):
            raise ClusterUnavailable(f"{where}: {section}.{name} is not a string")


_UNVERIFIED = "{where} has insecure-skip-tls-verify; Berth always verifies: set certificate-authority-data instead"


def _server(document: dict[str, object], where: str) -> Server:
    server = _plain_server(document)
    if server is None:
        return _configuration(document, where)
    _refuse_server(server.host, where)
    return server


def _plain_server(document: dict[str, object]) -> BearerServer | CertificateServer | None:
    """Read a kubeconfig of one context that has only an address, perhaps an authority, and a token or a client
    certificate with its key. None for all other kubeconfigs, also for wrong ones: the Kubernetes client reports the
    error."""
    context, cluster, user = (_only(document, f"{entry}s", entry) for entry in ("context", "cluster", "user"))
    if document.get("current-context") != context.name:
        return None
    if (context.fields.get("cluster"), context.fields.get("user")) != (cluster.name, user.name):
        return None
    host = cluster.fields.get("server")
    if cluster.fields.keys() - CLUSTER_FIELDS or not isinstance(host, str) or not host:
        return None
    authority = None
    if "certificate-authority-data" in cluster.fields:
        authority = _pem(cluster.fields["certificate-authority-data"], "CERTIFICATE")
        if authority is None:
            return None
    return _with_user(host.rstrip("/"), authority, user.fields)


def _with_user(host: str, authority: str | None, user: dict[str, object]) -> BearerServer | CertificateServer | None:
    if user.keys() == {"token"}:
        token = user["token"]
        return BearerServer(host, authority, token.strip) if isinstance(token, str) and token else None
    # The client knows kinds of proxies, and which servers they are not for.
    if user.keys() != {"client-certificate-data", "client-key-data"} or getproxies():
        return None
    certificate = _pem(user["client-certificate-data"], "CERTIFICATE")
    key = _pem(user["client-key-data"], "PRIVATE KEY")
    context = client_context(authority, certificate, key) if certificate and key else None
    return None if context is None else CertificateServer(host, context)


def _pem(data: object, kind: str) -> str | None:
    """Return the text; None if the data is not PEM of this kind. kind: the end of its first line."""
    try:
        text = base64.b64decode(data).decode("ascii") if isinstance(data, str) else ""
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if "-----BEGIN " in text and f"{kind}-----" in text else None


class _Entry(NamedTuple):
    name: object
    fields: dict[str, object]


def _only(document: dict[str, object], section: str, entry: str) -> _Entry:
    """Return the only entry of a section; an entry without fields if the section has several entries, or none."""
    listed = document.get(section)
    found = _by_name(document, section, entry)
    if not isinstance(listed, list) or len(listed) != 1 or not found:
        return _Entry(None, {})
    return _Entry(*next(iter(found.items())))


def _configuration(document: dict[str, object], where: str) -> Configuration:
    # Only here: most kubeconfigs of a function have a token.
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, load_kube_config_from_dict

    configuration = Configuration()
    try:
        with _without_plugin_output():
            load_kube_config_from_dict(  # type: ignore[no-untyped-call]
                document, client_configuration=configuration, persist_config=False
            )
    except ConfigException as error:
        raise ClusterUnavailable(f"{where}: {error}") from error
    except OSError as error:
        raise ClusterUnavailable(f"{where}: {error.filename}: {error.strerror}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # The client takes the shape of a document for granted, and its messages may quote it.
        raise ClusterUnavailable(f"{where} has not the form of a kubeconfig; see what kubectl says of it") from error
    if not configuration.host:
        raise ClusterUnavailable(f"{where} names no server")
    _refuse_server(configuration.host, where)
    if not configuration.verify_ssl:
        raise ClusterUnavailable(_UNVERIFIED.format(where=where))
    if not configuration.api_key and not configuration.cert_file and _has_exec_plugin(document):
        # The client only logs that the plugin failed, and would go on as anonymous.
        raise ClusterUnavailable(f"{where}: its exec plugin gave no credentials; run its command by hand to see why")
    return configuration


def _refuse_server(server: str, where: str) -> None:
    """Refuse a server that does not prove its identity: credentials go to it as they are."""
    try:
        parts = urlsplit(server)
        usable = parts.scheme == "https" and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ClusterUnavailable(f"{where}: server is not an https:// address")
    if parts.username is not None or parts.query or parts.fragment:
        raise ClusterUnavailable(f"{where}: server has more than a host, a port and a path")


@contextmanager
def _without_plugin_output() -> Iterator[None]:
    """The Kubernetes client logs what an exec plugin writes to standard error, and plugins print credentials there."""
    root = logging.getLogger()
    root.addFilter(_is_not_of_the_client)
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_the_client)


def _is_not_of_the_client(record: logging.LogRecord) -> bool:
    return record.module != "kube_config"


def _has_exec_plugin(document: dict[str, object]) -> bool:
    """Return whether a command supplies the credentials of the current context's user."""
    contexts, users = _by_name(document, "contexts", "context"), _by_name(document, "users", "user")
    context = contexts.get(document.get("current-context"), {})
    return "exec" in users.get(context.get("user"), {})


def _by_name(document: dict[str, object], section: str, entry: str) -> dict[object, dict[str, object]]:
    listed = document.get(section)
    found = {}
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(item.get(entry), dict):
            found[item.get("name")] = item[entry]
    return found


def _resolve_paths(document: dict[str, object], base_path: Path) -> None:
    """Resolve paths, which are relative to the kubeconfig; read from a dict they would be relative to the process."""
    for section, entry in (("clusters", "cluster"), ("users", "user")):
        listed = document.get(section)
        for item in listed if isinstance(listed, list) else ():
            fields = item.get(entry) if isinstance(item, dict) else None
            for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
                if isinstance(fields, dict) and isinstance(fields.get(key), str):
                    fields[key] = str(base_path / fields[key])
