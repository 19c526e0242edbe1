"""The users as which the permissions of watcher and bind are checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from berth_cli.deployed_stack import DeployedStack
from berth_cli.doctor.access.aws_account import is_inspection_denied
from berth_cli.doctor.access.cluster import Subject
from berth_cli.doctor.access.kubernetes_cluster import KubernetesAccess, SubjectAccess, parse_subject
from berth_cli.doctor.identities import BINDER, WATCHER, identity
from berth_cli.doctor.options import InputErrors, Options
from tests.builders.kubeconfigs import kubeconfig_for

REGION = "eu-central-1"
SERVER = "https://127.0.0.1:1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return kubeconfig_for(SERVER, tmp_path)


def stack(**parameters: str) -> DeployedStack:
    return DeployedStack("berth", REGION, parameters, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("jane", Subject("jane", ("system:authenticated",)), id="a user"),
        pytest.param(
            "arn:aws:sts::1:assumed-role/w/s, watchers",
            Subject("arn:aws:sts::1:assumed-role/w/s", ("watchers", "system:authenticated")),
            id="of an access entry, with its group",
        ),
        pytest.param(
            "system:serviceaccount:kube-system:berth-watcher",
            Subject(
                "system:serviceaccount:kube-system:berth-watcher",
                ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
            ),
            id="a service account has the groups of all and of its namespace",
        ),
    ],
)
def test_subject_has_implicit_groups(text: str, expected: Subject) -> None:
    assert parse_subject(text) == expected


def test_uses_one_kubeconfig_for_both_functions_without_stack(file: Path) -> None:
    options = Options(kubeconfig=file)
    for which in (WATCHER, BINDER):
        assert type(identity(InputErrors(), options, None, which)) is KubernetesAccess


def test_ignores_caller_kubeconfig_for_functions_of_stack(file: Path) -> None:
    assert identity(InputErrors(), Options(kubeconfig=file), stack(EksClusterName="production"), WATCHER) is None


def test_reviews_access_of_given_user_only(file: Path) -> None:
    options = Options(kubeconfig=file, watcher_user="jane")
    found = identity(InputErrors(), options, stack(), WATCHER)
    assert isinstance(found, SubjectAccess)
    assert found.user() == "jane"
    assert identity(InputErrors(), options, stack(), BINDER) is None


def test_own_kubeconfig_overrides_user(file: Path) -> None:
    options = Options(kubeconfig=file, watcher_user="jane", watcher_kubeconfig=file)
    assert type(identity(InputErrors(), options, stack(), WATCHER)) is KubernetesAccess


def test_unreadable_kubeconfig_is_not_replaced(file: Path, tmp_path: Path) -> None:
    errors = InputErrors()
    options = replace(Options(kubeconfig=file), watcher_kubeconfig=tmp_path / "absent")
    assert identity(errors, options, None, WATCHER) is None
    assert [finding.check for finding in errors.findings] == ["kubeconfig"]


class Secrets:
    """Secrets Manager with these config_texts."""

    def __init__(self, **config_texts: str) -> None:
        self._manifest_texts = config_texts

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803  boto3's name
        if SecretId not in self._manifest_texts:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetSecretValue")
        return {"SecretString": self._manifest_texts[SecretId]}


@pytest.mark.parametrize(
    "secrets", [pytest.param(Secrets(own="text"), id="no kubeconfig"), pytest.param(Secrets(), id="no secret")]
)
def test_unusable_secret_is_failure(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "client", lambda *_, **__: secrets)
    errors = InputErrors()
    assert identity(errors, Options(), stack(WatcherKubeconfigSecretArn="own"), WATCHER) is None
    [finding] = errors.findings
    assert (finding.check, finding.result) == ("kubeconfig-secret", "failed")


def test_each_function_reads_its_own_secret(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = Secrets(own=file.read_text())
    monkeypatch.setattr(boto3, "client", lambda *_, **__: secrets)
    parameters = stack(WatcherKubeconfigSecretArn="absent", BinderKubeconfigSecretArn="own")
    assert identity(InputErrors(), Options(), parameters, WATCHER) is None
    assert identity(InputErrors(), Options(), parameters, BINDER) is not None


@pytest.mark.parametrize(
    ("error", "skipped"),
    [
        pytest.param(
            ClientError({"Error": {"Code": "AccessDeniedException"}}, "Get"), True, id="caller lacks permission"
        ),
        pytest.param(ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "Get"), False, id="it is not there"),
        pytest.param(None, False, id="it is there, and is no kubeconfig"),
    ],
)
def test_missing_permission_is_skipped_not_failed(error: ClientError | None, skipped: bool) -> None:
    assert is_inspection_denied(error) is skipped
