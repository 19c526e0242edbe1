"""A kubeconfig: the address of the API server and the credentials for it, from a file or from Secrets Manager.

A file belongs to the user who runs Berth: it may refer to other files and commands, as for kubectl. A secret is only
data: write access to it must not allow a user to run a command in the function, read its files or redirect its traffic.
For both, the server must use https and is verified, and the user must have credentials: Berth is never anonymous. A
field has the same meaning as for kubectl, or is rejected by name (docs/reference/kubeconfig.md). Messages quote only
field names of the content.
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
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

UNSUPPORTED_FIELDS = frozenset({"as", "as-uid", "as-groups", "as-user-extra", "auth-provider"})
"""The fields of a user that kubectl supports, or supported until 1.25, and that Berth rejects."""

_FILES = ("certificate-authority", "client-certificate", "client-key")
"""Fields with the path of a file. The same field with the suffix -data has the file's content instead."""


class _Context(NamedTuple):
    cluster: dict[str, object]
    user: dict[str, object]


def from_file(path: Path) -> Server:
    """Read the server. Exec plugins and files are used as in kubectl. Raises ClusterUnavailable."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ClusterUnavailable(f"kubeconfig {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ClusterUnavailable(f"kubeconfig {path} is not text") from error
    where = f"kubeconfig {path}"
    context = _current_context(_document(text, where), where)
    _resolve_paths(context, path.parent)
    return _server(context, where)


def from_secret(client: SecretsManagerClient, secret_id: str) -> Server:
    """Read the current context, which may have only `CLUSTER_FIELDS` and `USER_FIELDS`. Raises ClusterUnavailable."""
    where = "the kubeconfig secret"
    try:
        text = client.get_secret_value(SecretId=secret_id).get("SecretString", "")
    except (ClientError, BotoCoreError) as error:
        raise ClusterUnavailable(f"{where} cannot be read: {error}") from error
    context = _current_context(_document(text, where), where)
    _refuse_other_fields(context.cluster, CLUSTER_FIELDS, "cluster", where)
    _refuse_other_fields(context.user, USER_FIELDS, "user", where)
    return _server(context, where)


def _document(text: str, where: str) -> dict[str, object]:
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that does not exist
        # Do not use the parser's own message: it quotes the line, which may contain credentials.
        raise ClusterUnavailable(f"{where} is not YAML") from error
    if not isinstance(document, dict):
        raise ClusterUnavailable(f"{where} is not a kubeconfig")
    return document


def _current_context(document: dict[str, object], where: str) -> _Context:
    context = _named(document, "contexts", document.get("current-context"), where)
    if context is None:
        raise ClusterUnavailable(
            f"{where} has no context of the name in current-context; set it with: kubectl config use-context NAME"
        )
    if not context.get("user"):
        raise ClusterUnavailable(
            f"{where}: the current context names no user, and Berth is never anonymous; "
            "name one with: kubectl config set-context --current --user=NAME"
        )
    cluster, user = (_named(document, f"{entry}s", context.get(entry), where) for entry in ("cluster", "user"))
    if cluster is None or user is None:
        section = "clusters" if cluster is None else "users"
        raise ClusterUnavailable(f"{where}: {section} does not have the name in the current context")
    if cluster.get("insecure-skip-tls-verify") is False:
        cluster = {name: value for name, value in cluster.items() if name != "insecure-skip-tls-verify"}
    return _Context(cluster, user)


def _named(document: dict[str, object], section: str, name: object, where: str) -> dict[str, object] | None:
    """Return a copy of the fields of the section's entry with this name; None if it does not exist."""
    listed = document.get(section)
    entries = listed if isinstance(listed, list) else ()
    found = [each for each in entries if isinstance(each, dict) and each.get("name") == name and name]
    if len(found) > 1:
        raise ClusterUnavailable(f"{where}: {section} has one name twice")
    fields = found[0].get(section.removesuffix("s")) if found else None
    return dict(fields) if isinstance(fields, dict) else None


def _refuse_user(user: Mapping[str, object], where: str) -> None:
    given = {name for name, value in user.items() if value}
    if unsupported := sorted(given & UNSUPPORTED_FIELDS):
        raise ClusterUnavailable(
            f"{where}: user has the field {unsupported[0]!r}, which Berth does not support; "
            "give Berth a user of its own, with the rights of examples/rbac.yaml"
        )
    has_certificate = bool(given & {"client-certificate", "client-certificate-data"})
    if has_certificate is not bool(given & {"client-key", "client-key-data"}):
        raise ClusterUnavailable(f"{where}: user has a client certificate or a key alone; give both")
    if not (has_certificate or given & {"token", "tokenFile", "exec"} or given >= {"username", "password"}):
        raise ClusterUnavailable(
            f"{where}: user has no credentials, and Berth is never anonymous; "
            "it needs a token, a client certificate with its key, or an exec plugin"
        )
    if given & {"token", "tokenFile"} and given & {"username", "password"}:
        raise ClusterUnavailable(f"{where}: user has a token and a password; leave one of them out")
    plugin = user.get("exec")
    if isinstance(plugin, dict) and plugin.get("interactiveMode") == "Always":
        raise ClusterUnavailable(f"{where}: exec.interactiveMode is Always, and Berth has no terminal to ask at")


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


def _server(context: _Context, where: str) -> Server:
    _refuse_user(context.user, where)
    for name in _FILES:
        if context.cluster.keys() | context.user.keys() >= {name, f"{name}-data"}:
            raise ClusterUnavailable(f"{where} has {name} and {name}-data; leave one of them out")
    server = _plain_server(context, where)
    if server is None:
        return _configuration(context, where)
    _refuse_server(server.host, where)
    return server


def _plain_server(context: _Context, where: str) -> BearerServer | CertificateServer | None:
    """Read a context with only an address, a token or a client certificate with its key, and optionally an authority.
    Return None for all other contexts, even invalid ones: the Kubernetes client reports the error."""
    cluster = context.cluster
    host = cluster.get("server")
    if cluster.keys() - CLUSTER_FIELDS or not isinstance(host, str) or not host:
        return None
    authority = None
    if "certificate-authority-data" in cluster:
        authority = _pem(cluster["certificate-authority-data"], "CERTIFICATE")
        if authority is None:
            return None
    return _with_user(host.rstrip("/"), authority, context.user, where)


def _with_user(
    host: str, authority: str | None, user: dict[str, object], where: str
) -> BearerServer | CertificateServer | None:
    if user.keys() == {"token"}:
        token = user["token"]
        return BearerServer(host, authority, token.strip) if isinstance(token, str) and token else None
    if user.keys() == {"tokenFile"} and isinstance(user["tokenFile"], str):
        # Read the file on every request: it is renewed, as a service account's token is.
        token_of_file = partial(_read_token, Path(user["tokenFile"]), where)
        token_of_file()
        return BearerServer(host, authority, token_of_file)
    # The client handles proxies, and the servers for which a proxy is not used.
    if user.keys() != {"client-certificate-data", "client-key-data"} or getproxies():
        return None
    certificate = _pem(user["client-certificate-data"], "CERTIFICATE")
    key = _pem(user["client-key-data"], "PRIVATE KEY")
    context = client_context(authority, certificate, key) if certificate and key else None
    return None if context is None else CertificateServer(host, context)


def _read_token(path: Path, where: str) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise ClusterUnavailable(f"{where}: {path}: {error.strerror}") from error


def _pem(data: object, kind: str) -> str | None:
    """Return the text; None if the data is not PEM of this kind. kind: the end of the PEM text's first line."""
    try:
        text = base64.b64decode(data).decode("ascii") if isinstance(data, str) else ""
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if "-----BEGIN " in text and f"{kind}-----" in text else None


def _configuration(context: _Context, where: str) -> Configuration:
    # Most kubeconfigs of a function have a token, and do not need these imports.
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, load_kube_config_from_dict

    configuration = Configuration()
    try:
        with _without_plugin_output():
            load_kube_config_from_dict(  # type: ignore[no-untyped-call]
                _document_of(context), client_configuration=configuration, persist_config=False
            )
    except ConfigException as error:
        raise ClusterUnavailable(f"{where}: {error}") from error
    except OSError as error:
        raise ClusterUnavailable(f"{where}: {error.filename}: {error.strerror}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # The client does not check the structure of a document, and its messages may quote the document.
        raise ClusterUnavailable(f"{where} has not the form of a kubeconfig; see what kubectl says of it") from error
    if not configuration.host:
        raise ClusterUnavailable(f"{where} names no server")
    _refuse_server(configuration.host, where)
    if not configuration.verify_ssl:
        raise ClusterUnavailable(_UNVERIFIED.format(where=where))
    if not configuration.api_key and not configuration.cert_file and "exec" in context.user:
        # The client only logs that the plugin failed, and would continue as anonymous.
        raise ClusterUnavailable(f"{where}: its exec plugin gave no credentials; run its command by hand to see why")
    return configuration


def _refuse_server(server: str, where: str) -> None:
    """Reject an address that is not plain https: only a server that proves its identity may get credentials."""
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
    """Suppress the Kubernetes client's log records: it logs the standard error of exec plugins, which can contain
    credentials."""
    root = logging.getLogger()
    root.addFilter(_is_not_of_the_client)
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_the_client)


def _is_not_of_the_client(record: logging.LogRecord) -> bool:
    return record.module != "kube_config"


def _document_of(context: _Context) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": context.cluster}],
        "users": [{"name": "user", "user": context.user}],
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
        "current-context": "context",
    }


def _resolve_paths(context: _Context, base_path: Path) -> None:
    """Resolve paths relative to the kubeconfig. The client, which gets a dict, would use the working directory."""
    if "tokenFile" in context.user:
        # The file is renewed, so kubectl prefers it; the Kubernetes client prefers the token.
        context.user.pop("token", None)
    for fields in context:
        for key in (*_FILES, "tokenFile"):
            if isinstance(path := fields.get(key), str) and path:
                fields[key] = str(base_path / path)
    plugin = context.user.get("exec")
    if isinstance(plugin, dict) and isinstance(command := plugin.get("command"), str) and os.sep in command:
        # A command without a separator is searched for in PATH.
        context.user["exec"] = {**plugin, "command": str(base_path / command)}
