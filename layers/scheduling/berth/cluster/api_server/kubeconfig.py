"""Where the API server is and who we are there: a kubeconfig, from a file or from Secrets Manager.

Messages name cause and remedy, and no part of the content.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from botocore.exceptions import BotoCoreError, ClientError
from kubernetes.client import Configuration
from kubernetes.config import ConfigException, load_kube_config_from_dict

from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient


def from_file(path: Path) -> Configuration:
    """Raises ClusterUnavailable."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ClusterUnavailable(f"kubeconfig {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ClusterUnavailable(f"kubeconfig {path} is not text") from error
    return _configuration(text, f"kubeconfig {path}", base_path=path.parent)


def from_secret(client: SecretsManagerClient, secret_id: str) -> Configuration:
    """The secret's string is a kubeconfig with certificates and token inside, no paths. Raises ClusterUnavailable."""
    try:
        text = client.get_secret_value(SecretId=secret_id).get("SecretString", "")
    except (ClientError, BotoCoreError) as error:
        raise ClusterUnavailable(f"the kubeconfig secret cannot be read: {error}") from error
    return _configuration(text, "the kubeconfig secret", base_path=None)


def _configuration(text: str, where: str, base_path: Path | None) -> Configuration:
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a ValueError of a date that there is not
        # Not the parser's own message: it quotes the line, and lines of a kubeconfig are credentials.
        raise ClusterUnavailable(f"{where} is not YAML") from error
    if not isinstance(document, dict):
        raise ClusterUnavailable(f"{where} is not a kubeconfig")
    if base_path is not None:
        _resolve_paths(document, base_path)
    configuration = Configuration()
    try:
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
    if not configuration.verify_ssl:
        raise ClusterUnavailable(
            f"{where} has insecure-skip-tls-verify; Berth always verifies: set certificate-authority-data instead"
        )
    if not configuration.api_key and not configuration.cert_file and _has_exec_plugin(document):
        # The client only logs that the plugin failed, and would go on as anonymous.
        raise ClusterUnavailable(f"{where}: its exec plugin gave no credentials; run its command by hand to see why")
    return configuration


def _has_exec_plugin(document: dict[str, object]) -> bool:
    """Whether the current context's user is one whom a command gives credentials."""
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
    """Paths in a kubeconfig are relative to the file; read from a dict they would be relative to the process."""
    for section, entry in (("clusters", "cluster"), ("users", "user")):
        listed = document.get(section)
        for item in listed if isinstance(listed, list) else ():
            fields = item.get(entry) if isinstance(item, dict) else None
            for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
                if isinstance(fields, dict) and isinstance(fields.get(key), str):
                    fields[key] = str(base_path / fields[key])
