"""A kubeconfig in a secret must not refer to files or commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import boto3
import pytest
import yaml
from botocore.stub import Stubber

from berth.cluster.api_server import kubeconfig
from berth.cluster.api_server.access import BearerServer, authorization
from berth.nodecache.feed.cluster import ClusterUnavailable
from tests.builders.kubeconfigs import CERTIFICATE, PEM, SECRET, exec_plugin
from tests.builders.kubeconfigs import kubeconfig as a_kubeconfig

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient


def test_reads_server_and_user_from_secret() -> None:
    client = boto3.session.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1"
    ).client("secretsmanager")
    with Stubber(client) as secrets:
        secrets.add_response(
            "get_secret_value",
            {"SecretString": yaml.safe_dump(a_kubeconfig("https://10.0.0.1:6443"))},
            {"SecretId": "berth/cluster"},
        )
        assert kubeconfig.from_secret(client, "berth/cluster").host == "https://10.0.0.1:6443"
        secrets.add_client_error("get_secret_value", "AccessDeniedException", "not allowed")
        with pytest.raises(ClusterUnavailable, match=r"the kubeconfig secret cannot be read: .*not allowed"):
            kubeconfig.from_secret(client, "berth/cluster")
        secrets.add_response("get_secret_value", {"SecretBinary": b"kind: Config"}, {"SecretId": "berth/cluster"})
        with pytest.raises(ClusterUnavailable, match="the kubeconfig secret is not a kubeconfig"):
            kubeconfig.from_secret(client, "berth/cluster")


def secret_with(document: dict[str, object]) -> SecretsManagerClient:
    client: SecretsManagerClient = boto3.session.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1"
    ).client("secretsmanager")
    stubber = Stubber(client)
    stubber.add_response("get_secret_value", {"SecretString": yaml.safe_dump(document)}, {"SecretId": "berth/cluster"})
    stubber.activate()
    return client


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        pytest.param(
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": ["RAN"]}},
            {},
            "user has the field 'exec', which a secret must not have; "
            "it may have client-certificate-data, client-key-data, token",
            id="an exec plugin",
        ),
        pytest.param(
            {"auth-provider": {"name": "gcp", "config": {"cmd-path": "touch", "cmd-args": "RAN"}}},
            {},
            "user has the field 'auth-provider'",
            id="an auth provider",
        ),
        pytest.param({"tokenFile": "/proc/self/environ"}, {}, "user has the field 'tokenFile'", id="a token's path"),
        pytest.param({"client-key": "/etc/key"}, {}, "user has the field 'client-key'", id="a key's path"),
        pytest.param(
            {"client-certificate": "/etc/crt"}, {}, "user has the field 'client-certificate'", id="a certificate's path"
        ),
        pytest.param({"username": "a", "password": "b"}, {}, "user has the field 'password'", id="a password"),
        pytest.param({"token": 3}, {}, "user.token is not a string", id="a token that is a number"),
        pytest.param(
            {"token": SECRET},
            {"certificate-authority": "/etc/ca.pem"},
            "cluster has the field 'certificate-authority', which a secret must not have; "
            "it may have certificate-authority-data, server",
            id="an authority's path",
        ),
        pytest.param(
            {"token": SECRET}, {"proxy-url": "https://p.example"}, "cluster has the field 'proxy-url'", id="a proxy"
        ),
        pytest.param(
            {"token": SECRET}, {"insecure-skip-tls-verify": True}, "has insecure-skip-tls-verify", id="no verification"
        ),
        pytest.param({"token": SECRET}, {"server": "http://10.0.0.1"}, "server is not an https:// address", id="http"),
        pytest.param(
            {"token": SECRET}, {"server": "file:///etc/passwd"}, "server is not an https:// address", id="a file"
        ),
        pytest.param(
            {"token": SECRET},
            {"server": f"https://u:{SECRET}@h"},
            "server has more than a host, a port and a path",
            id="credentials in the address",
        ),
    ],
)
def test_rejects_secret_with_references_to_files_or_commands(
    user: dict[str, object], cluster: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = a_kubeconfig(**{"server": "https://10.0.0.1:6443", "user": user} | cluster)  # type: ignore[arg-type]
    with pytest.raises(ClusterUnavailable) as caught:
        kubeconfig.from_secret(secret_with(document), "berth/cluster")
    assert str(caught.value).startswith("the kubeconfig secret")
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "RAN").exists()


def test_rejects_secret_without_its_current_context() -> None:
    document = a_kubeconfig("https://h") | {"current-context": "absent"}
    with pytest.raises(
        ClusterUnavailable, match="has no context of the name in current-context; set it with: kubectl config"
    ):
        kubeconfig.from_secret(secret_with(document), "berth/cluster")


def test_ignores_users_of_other_contexts_in_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = a_kubeconfig("https://h", {"token": SECRET}, **{"certificate-authority-data": CERTIFICATE})
    document["users"] = [*cast(list[object], document["users"]), {"name": "other", "user": exec_plugin("touch", "RAN")}]
    server = kubeconfig.from_secret(secret_with(document), "berth/cluster")
    assert authorization(server) == {"Authorization": f"Bearer {SECRET}"}
    assert isinstance(server, BearerServer)
    assert server.authority == PEM
    assert not (tmp_path / "RAN").exists()
