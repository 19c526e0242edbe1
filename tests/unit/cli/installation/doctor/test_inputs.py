"""The inputs that the options name: the users that call the cluster, and the scheduler's TLS material."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.doctor import inputs
from berth_cli.installation.doctor.aws_account import is_inspection_denied
from berth_cli.installation.doctor.inputs import Options, load_tls_material, read_inputs
from berth_cli.installation.doctor.scheduler_configuration import TLSConfig
from berth_cli.sources.server import CredentialsUnreadable
from berth_cli.sources.stack import URL_PREFIX, DeployedStack
from berth_cli.terminal.options import TLSFiles
from tests.builders.kubeconfigs import kubeconfig_for


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return kubeconfig_for("https://127.0.0.1:1", tmp_path)


@pytest.fixture
def parameters(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the parameters of the stack that `describe` returns; a test sets them."""
    found: dict[str, str] = {}
    outputs = {URL_PREFIX: "https://berth.example.com/scheduler"}
    monkeypatch.setattr(inputs, "describe", lambda name, region: DeployedStack(name, region, found, outputs))
    monkeypatch.setattr(inputs, "configuration_in_force", lambda _: BerthConfiguration())
    return found


def test_uses_one_kubeconfig_for_both_functions_without_stack(file: Path) -> None:
    found = read_inputs(Options(kubeconfig=file))
    assert found.reader is not None
    assert found.watcher is found.reader
    assert found.binder is found.reader


def test_ignores_caller_kubeconfig_for_functions_of_stack(file: Path, parameters: dict[str, str]) -> None:
    parameters["EksCluster"] = "production"
    assert read_inputs(Options(kubeconfig=file, stack="berth")).watcher is None


def test_does_not_use_the_kubeconfig_for_users_that_a_running_server_reports(file: Path) -> None:
    found = read_inputs(Options(kubeconfig=file, url="http://127.0.0.1:1/scheduler"))
    assert (found.watcher, found.binder) == (None, None)


def test_remedy_asks_for_the_plugin_directory_if_a_plugin_is_missing_locally(tmp_path: Path) -> None:
    document = tmp_path / "berth.yaml"
    document.write_text("pluginConfig: [{name: 'berth_plugins.absent:Absent'}]")
    [found] = read_inputs(Options(url="http://127.0.0.1:9/scheduler", config=document)).findings
    assert found.remedy == "give the directory of your plugins: berth doctor --plugins DIR"


def test_stack_with_mutual_tls_is_not_called_without_certificate(parameters: dict[str, str]) -> None:
    """Otherwise every call would fail on a healthy stack: some commands in on-call.md give only --stack."""
    parameters["Authentication"] = "mtls"
    found = read_inputs(Options(stack="berth"))
    assert found.endpoint is None
    assert [(each.check, each.result, each.message) for each in found.findings] == [
        ("credentials", "skipped", "the stack requires a client certificate")
    ]


class Secrets:
    def __init__(self, **config_texts: str) -> None:
        self._manifest_texts = config_texts

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803  boto3's name
        if SecretId not in self._manifest_texts:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetSecretValue")
        return {"SecretString": self._manifest_texts[SecretId]}


@pytest.mark.parametrize(
    "secrets", [pytest.param(Secrets(own="text"), id="no kubeconfig"), pytest.param(Secrets(), id="no secret")]
)
def test_unusable_kubeconfig_secret_is_a_failure(
    secrets: Secrets, parameters: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boto3, "client", lambda *_, **__: secrets)
    parameters["WatcherKubeconfigSecretArn"] = "own"
    found = read_inputs(Options(stack="berth"))
    assert found.watcher is None
    assert [(each.check, each.result) for each in found.findings] == [("kubeconfig-secret", "failed")]


def test_each_function_reads_its_own_secret(
    file: Path, parameters: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = Secrets(own=file.read_text())
    monkeypatch.setattr(boto3, "client", lambda *_, **__: secrets)
    parameters.update(WatcherKubeconfigSecretArn="absent", BinderKubeconfigSecretArn="own")
    found = read_inputs(Options(stack="berth"))
    assert found.watcher is None
    assert found.binder is not None


@pytest.mark.parametrize(
    ("error", "skipped"),
    [
        pytest.param(ClientError({"Error": {"Code": "AccessDeniedException"}}, "Get"), True, id="caller lacks right"),
        pytest.param(ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "Get"), False, id="missing"),
        pytest.param(None, False, id="not a kubeconfig"),
    ],
)
def test_missing_permission_is_skipped_instead_of_failed(error: ClientError | None, skipped: bool) -> None:
    assert is_inspection_denied(error) is skipped


def test_options_override_inline_data_and_inline_data_overrides_paths(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.write_bytes(b"here")
    config = TLSConfig.model_validate({"caData": b64encode(b"data").decode(), "caFile": "/elsewhere"})
    assert load_tls_material(config, TLSFiles(ca=here)).ca == b"here"
    assert load_tls_material(config, TLSFiles()).ca == b"data"


def test_error_for_a_missing_file_asks_for_a_local_copy() -> None:
    with pytest.raises(
        CredentialsUnreadable, match=r"/there/tls.crt: .*on the scheduler's machine: .*--tls-client-cert"
    ):
        load_tls_material(
            TLSConfig.model_validate({"certFile": "/there/tls.crt", "keyFile": "/there/tls.key"}), TLSFiles()
        )
