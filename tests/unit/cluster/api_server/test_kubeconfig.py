"""The server and the user of a kubeconfig."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from kubernetes.client import Configuration
from kubernetes.config import load_kube_config_from_dict

from berth.cluster.api_server import kubeconfig
from berth.cluster.api_server.access import BearerServer, CertificateServer, authorization
from berth.cluster.api_server.client import Connections
from berth.nodecache.feed.cluster import ClusterUnavailable
from tests.builders.certificates import self_signed
from tests.builders.kubeconfigs import CERTIFICATE, SECRET, exec_plugin, kubeconfig_for
from tests.builders.kubeconfigs import kubeconfig as a_kubeconfig

if TYPE_CHECKING:
    pass

CREDENTIAL = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}'


def written(directory: Path, text: str) -> Path:
    path = directory / "kubeconfig"
    path.write_text(text)
    return path


def _content(path: str | None) -> bytes:
    assert path is not None
    return Path(path).read_bytes()


def test_reads_server_and_user_from_file(tmp_path: Path) -> None:
    server = kubeconfig.from_file(kubeconfig_for("https://10.0.0.1:6443", tmp_path))
    assert server.host == "https://10.0.0.1:6443"
    assert authorization(server) == {"Authorization": "Bearer token-1"}


def _document(**changed: object) -> dict[str, object]:
    return a_kubeconfig("https://10.0.0.1:6443/", {"token": "token-1\n"}) | changed


def _user(**fields: object) -> dict[str, object]:
    return {"users": [{"name": "berth", "user": fields}]}


def _cluster(**fields: object) -> dict[str, object]:
    return {"clusters": [{"name": "here", "cluster": {"server": "https://10.0.0.1:6443", **fields}}]}


@pytest.mark.parametrize(
    ("changed", "needs_client"),
    [
        pytest.param({}, False, id="an address and a token"),
        pytest.param(_cluster(**{"certificate-authority-data": CERTIFICATE}), False, id="address, token and authority"),
        pytest.param(_cluster(**{"certificate-authority-data": ""}), True, id="an empty authority"),
        pytest.param(_cluster(**{"tls-server-name": "api.example"}), True, id="another name of the server"),
        pytest.param(_cluster(**{"proxy-url": "https://proxy.example"}), True, id="a proxy"),
        pytest.param(_user(username="a", password="b"), True, id="a password"),
        pytest.param(
            {"users": [{"name": name, "user": {"token": name}} for name in ("berth", "other")]}, False, id="two users"
        ),
    ],
)
def test_kubeconfig_is_read_as_by_the_kubernetes_client(
    changed: dict[str, object], needs_client: bool, tmp_path: Path
) -> None:
    document = _document(**changed)
    server = kubeconfig.from_file(written(tmp_path, yaml.safe_dump(document)))
    known = Configuration()
    load_kube_config_from_dict(document, client_configuration=known, persist_config=False)  # type: ignore[no-untyped-call]
    assert isinstance(server, BearerServer) is not needs_client
    assert server.host == known.host
    assert authorization(server) == authorization(known)
    given, wanted = Connections().pool(server).connection_pool_kw, Connections().pool(known).connection_pool_kw
    assert given["cert_reqs"] == wanted["cert_reqs"]
    assert _authority(given) == _authority(wanted)


@pytest.fixture
def user_certificate(tmp_path: Path) -> dict[str, object]:
    files = zip(("client-certificate-data", "client-key-data"), self_signed(tmp_path, "user"), strict=True)
    return {name: base64.b64encode(file.read_bytes()).decode() for name, file in files}


@pytest.mark.parametrize(
    ("changed", "needs_client"),
    [
        pytest.param({}, False, id="a certificate and its key"),
        pytest.param({"token": "t"}, True, id="a certificate, its key and a token"),
        pytest.param({"client-certificate-data": CERTIFICATE}, True, id="no certificate"),
    ],
)
def test_inline_certificate_is_used_without_the_kubernetes_client(
    changed: dict[str, object], needs_client: bool, tmp_path: Path, user_certificate: dict[str, object]
) -> None:
    fields = {name: value for name, value in (user_certificate | changed).items() if value is not None}
    server = kubeconfig.from_file(written(tmp_path, yaml.safe_dump(_document(**_user(**fields)))))
    assert isinstance(server, CertificateServer) is not needs_client
    assert server.host == "https://10.0.0.1:6443"


def test_certificate_behind_a_proxy_requires_the_kubernetes_client(
    tmp_path: Path, user_certificate: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    document = _document(**_user(**user_certificate))
    server = kubeconfig.from_file(written(tmp_path, yaml.safe_dump(document)))
    assert isinstance(server, Configuration)


def _authority(pool: dict[str, Any]) -> str | None:
    return Path(pool["ca_certs"]).read_text() if pool.get("ca_certs") else pool.get("ca_cert_data")


def test_resolves_paths_relative_to_file(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, "pki")
    document = a_kubeconfig(
        "https://10.0.0.1:6443",
        {"client-certificate": certificate.name, "client-key": key.name},
        **{"certificate-authority": certificate.name},
    )
    configuration = kubeconfig.from_file(written(tmp_path, yaml.safe_dump(document)))
    assert isinstance(configuration, Configuration)
    assert _content(configuration.ssl_ca_cert) == certificate.read_bytes()
    assert _content(configuration.cert_file) == certificate.read_bytes()
    assert _content(configuration.key_file) == key.read_bytes()


def test_resolves_command_in_a_folder_relative_to_file(tmp_path: Path) -> None:
    plugin = tmp_path / "bin" / "credentials"
    plugin.parent.mkdir()
    plugin.write_text(f"#!/bin/sh\necho '{CREDENTIAL}'\n")
    plugin.chmod(0o755)
    document = a_kubeconfig("https://h", exec_plugin("./bin/credentials"))
    assert authorization(kubeconfig.from_file(written(tmp_path, yaml.safe_dump(document)))) == {
        "Authorization": "Bearer t"
    }


def test_prefers_token_file_and_reads_it_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    document = a_kubeconfig("https://h", {"token": "old", "tokenFile": "token"})
    server = kubeconfig.from_file(written(tmp_path, yaml.safe_dump(document)))
    assert authorization(server) == {"Authorization": "Bearer first"}
    (tmp_path / "token").write_text("second\n")
    assert authorization(server) == {"Authorization": "Bearer second"}


CERTIFICATES = {"client-certificate": "c.pem", "client-key": "k.pem"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        *(
            pytest.param(_user(token=SECRET, **{name: value}), f"user has the field '{name}', which Berth", id=name)
            for name, value in (
                ("as", "nobody"),
                ("as-uid", "7"),
                ("as-groups", ["g"]),
                ("as-user-extra", {"a": ["b"]}),
                ("auth-provider", {"name": "oidc"}),
            )
        ),
        pytest.param(_user(), "user has no credentials", id="no credentials"),
        pytest.param(_user(token=""), "user has no credentials", id="an empty token"),
        pytest.param(_user(username="a"), "user has no credentials", id="a name without a password"),
        pytest.param(_user(**{"client-certificate": "c.pem"}), "a client certificate or a key alone", id="without key"),
        pytest.param(
            _user(token=SECRET, **{"client-key-data": CERTIFICATE}),
            "a client certificate or a key alone",
            id="a key and a token",
        ),
        pytest.param(_user(token=SECRET, username="a", password="b"), "a token and a password", id="two credentials"),
        pytest.param(
            _user(**CERTIFICATES, **{"client-key-data": CERTIFICATE}),
            "has client-key and client-key-data",
            id="two keys",
        ),
        pytest.param(
            _cluster(**{"certificate-authority": "a.pem", "certificate-authority-data": CERTIFICATE}),
            "has certificate-authority and certificate-authority-data",
            id="two authorities",
        ),
        pytest.param(
            _user(exec={"command": "c", "apiVersion": "v1", "interactiveMode": "Always"}),
            "exec.interactiveMode is Always",
            id="an interactive exec plugin",
        ),
        pytest.param({"contexts": [{"name": "only", "context": {"cluster": "here"}}]}, "names no user", id="no user"),
        pytest.param({"users": []}, "users does not have the name in the current context", id="unknown user"),
        pytest.param({"clusters": []}, "clusters does not have the name in the current context", id="unknown cluster"),
        pytest.param(
            {"users": [{"name": "berth", "user": {"token": name}} for name in "ab"]},
            "users has one name twice",
            id="a duplicate user",
        ),
    ],
)
def test_rejects_and_names_unsupported_settings(document: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable) as caught:
        kubeconfig.from_file(written(tmp_path, yaml.safe_dump(_document(**document))))
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "is not a kubeconfig", id="empty"),
        pytest.param(f"users: [{{token: {SECRET}", "is not YAML", id="not YAML"),
        pytest.param(
            yaml.safe_dump(a_kubeconfig("https://h", {"token": SECRET}, **{"certificate-authority-data": "!!x"})),
            "has not the form of a kubeconfig",
            id="an authority that is not base64",
        ),
        pytest.param(yaml.safe_dump(a_kubeconfig("", {"token": SECRET})), "names no server", id="no server"),
        pytest.param(
            yaml.safe_dump(a_kubeconfig("https://h", {"token": SECRET}) | {"current-context": "absent"}),
            "has no context of the name in current-context",
            id="a missing context",
        ),
        pytest.param(
            yaml.safe_dump(a_kubeconfig("https://h", {"token": SECRET}, **{"insecure-skip-tls-verify": True})),
            "has insecure-skip-tls-verify; Berth always verifies: set certificate-authority-data instead",
            id="without verification",
        ),
    ],
)
def test_error_for_an_invalid_file_names_it_without_quoting_secrets(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ClusterUnavailable) as caught:
        kubeconfig.from_file(path)
    assert str(caught.value).startswith(f"kubeconfig {path}")
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


def test_error_names_a_missing_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable) as caught:
        kubeconfig.from_file(tmp_path / "absent")
    assert str(caught.value) == f"kubeconfig {tmp_path / 'absent'}: No such file or directory"


def test_reports_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ClusterUnavailable, match="kubeconfig"):
        kubeconfig.from_file(path)


def test_gets_token_from_exec_plugin(tmp_path: Path) -> None:
    document = a_kubeconfig("https://h", exec_plugin("echo", CREDENTIAL))
    server = kubeconfig.from_file(written(tmp_path, yaml.safe_dump(document)))
    assert authorization(server) == {"Authorization": "Bearer t"}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["false"], id="the plugin fails"),
        pytest.param(["absent-credential-plugin"], id="the plugin is missing"),
        pytest.param(["echo", "not JSON"], id="the plugin prints another format"),
    ],
)
def test_reports_exec_plugin_without_credentials(command: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, yaml.safe_dump(a_kubeconfig("https://h", exec_plugin(*command))))
    with pytest.raises(ClusterUnavailable, match="its exec plugin gave no credentials"):
        kubeconfig.from_file(path)


@pytest.mark.parametrize("server", ["http://10.0.0.1", "http://127.0.0.1:8001", "file:///etc/passwd", "h:6443"])
def test_rejects_server_that_is_not_https(server: str, tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable, match="server is not an https:// address"):
        kubeconfig.from_file(kubeconfig_for(server, tmp_path))


def test_does_not_log_the_stderr_of_an_exec_plugin(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    command = exec_plugin("sh", "-c", f"echo {SECRET} >&2; exit 1")
    with pytest.raises(ClusterUnavailable, match="its exec plugin gave no credentials"):
        kubeconfig.from_file(written(tmp_path, yaml.safe_dump(a_kubeconfig("https://h", command))))
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capfd.readouterr())
