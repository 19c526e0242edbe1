"""Contract of the ports PasswordStore and AllowListStore, in memory and in the stores that a deployment uses."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from berth.authentication.allow_list import AllowList, AllowListEntry, format_entries
from berth.authentication.basic import check
from berth.authentication.dynamodb_allow_list import ALLOW_LIST_KEY, DynamoDBAllowList
from berth.authentication.outcomes import AuthorizerOutcome, CredentialStoreUnavailable
from berth.authentication.stores import OVERLAP_SECONDS, AllowListFile, SecretsManagerPasswords
from tests.builders.authorizer_events import basic
from tests.builders.tables import create_cache_table
from tests.fakes.credential_stores import InMemoryAllowList, InMemoryPasswords
from tests.fakes.moto_account import moto_client


class InMemory:
    """A password record, and the operations of its owner."""

    def __init__(self) -> None:
        self._memory = InMemoryPasswords(secret("one"))
        self._time = 0.0
        self.record = self._memory

    def rotate(self, secret: str) -> None:
        self._memory.previous, self._memory.secret = self._memory.secret, secret
        self._memory.previous_until = self._time + OVERLAP_SECONDS

    def pass_time(self, seconds: float) -> None:
        self._time += seconds

    def delete(self) -> None:
        self._memory.unavailable = True

    def now(self) -> float:
        return self._time


class InSecretsManager:
    def __init__(self) -> None:
        self._client = moto_client("secretsmanager")
        self._ahead = 0.0
        self._name = f"password-{uuid.uuid4().hex}"
        self._client.create_secret(Name=self._name, SecretString=secret("one"))
        self.record = SecretsManagerPasswords(self._client, self._name, self.now)

    def rotate(self, secret: str) -> None:
        self._client.put_secret_value(SecretId=self._name, SecretString=secret)

    def pass_time(self, seconds: float) -> None:
        self._ahead += seconds

    def delete(self) -> None:
        self._client.delete_secret(SecretId=self._name, ForceDeleteWithoutRecovery=True)

    def now(self) -> float:
        return datetime.now(UTC).timestamp() + self._ahead


KeptPassword = InMemory | InSecretsManager


def outcome(kept: KeptPassword, password: str) -> AuthorizerOutcome:
    return check(basic("berth", password), kept.record.read(), kept.now())


def secret(password: str) -> str:
    return json.dumps({"username": "berth", "password": password})


@pytest.fixture(params=[InMemory, InSecretsManager])
def kept(request: pytest.FixtureRequest) -> KeptPassword:
    made: KeptPassword = request.param()
    return made


def test_previous_password_is_absent_before_the_first_rotation(kept: KeptPassword) -> None:
    assert kept.record.read().previous is None
    assert outcome(kept, "one") is AuthorizerOutcome.ALLOWED
    assert outcome(kept, "none") is AuthorizerOutcome.WRONG_CREDENTIALS


def test_accepts_both_passwords_after_rotation(kept: KeptPassword) -> None:
    kept.rotate(secret("two"))
    assert outcome(kept, "two") is AuthorizerOutcome.ALLOWED
    assert outcome(kept, "one") is AuthorizerOutcome.ALLOWED_PREVIOUS


def test_rejects_previous_password_at_end_of_overlap_without_reading_again(kept: KeptPassword) -> None:
    kept.rotate(secret("two"))
    read = kept.record.read()
    kept.pass_time(OVERLAP_SECONDS + 5)
    assert check(basic("berth", "two"), read, kept.now()) is AuthorizerOutcome.ALLOWED
    assert check(basic("berth", "one"), read, kept.now()) is AuthorizerOutcome.WRONG_CREDENTIALS


def test_rejects_password_after_two_rotations(kept: KeptPassword) -> None:
    kept.rotate(secret("two"))
    kept.rotate(secret("three"))
    assert outcome(kept, "three") is AuthorizerOutcome.ALLOWED
    assert outcome(kept, "two") is AuthorizerOutcome.ALLOWED_PREVIOUS
    assert outcome(kept, "one") is AuthorizerOutcome.WRONG_CREDENTIALS


def test_raises_store_unavailable_when_secret_is_missing(kept: KeptPassword) -> None:
    kept.delete()
    with pytest.raises(CredentialStoreUnavailable):
        kept.record.read()


class ScriptedSecrets:
    """A Secrets Manager client that answers by version stage and records the requested stages."""

    def __init__(self, **answers: object) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def get_secret_value(self, *, SecretId: str, VersionStage: str) -> Any:  # noqa: N803  boto3's names
        self.asked.append(VersionStage)
        answer = self._answers[VersionStage]
        if isinstance(answer, Exception):
            raise answer
        return {"SecretString": answer, "CreatedDate": datetime.fromtimestamp(1_000_000, UTC)}


def failing(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "hunter2 is none of yours"}}, "GetSecretValue")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        pytest.param({"AWSCURRENT": failing("ThrottlingException")}, "ThrottlingException", id="throttled"),
        pytest.param({"AWSCURRENT": failing("AccessDeniedException")}, "AccessDeniedException", id="not allowed"),
        pytest.param({"AWSCURRENT": failing("InternalServiceError")}, "InternalServiceError", id="down"),
        pytest.param({"AWSCURRENT": failing("DecryptionFailure")}, "DecryptionFailure", id="missing key"),
        pytest.param({"AWSCURRENT": ConnectTimeoutError(endpoint_url="x")}, "ConnectTimeoutError", id="unreachable"),
        pytest.param({"AWSCURRENT": "hunter2"}, "not JSON", id="invalid record"),
        pytest.param(
            {"AWSCURRENT": secret("hunter2"), "AWSPREVIOUS": failing("ThrottlingException")},
            "ThrottlingException",
            id="throttled at the second call",
        ),
    ],
)
def test_error_names_the_cause_without_quoting_the_secret(answers: dict[str, object], message: str) -> None:
    record = SecretsManagerPasswords(ScriptedSecrets(**answers), "s", lambda: 1_000_001.0)  # type: ignore[arg-type]
    with pytest.raises(CredentialStoreUnavailable, match=message) as raised:
        record.read()
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_ignores_previous_version_when_malformed() -> None:
    client = ScriptedSecrets(AWSCURRENT=secret("one"), AWSPREVIOUS="hunter2")
    record = SecretsManagerPasswords(client, "s", lambda: 1_000_001.0)  # type: ignore[arg-type]
    assert record.read().previous is None


def test_reads_only_the_current_version_after_the_overlap() -> None:
    client = ScriptedSecrets(AWSCURRENT=secret("one"))
    SecretsManagerPasswords(client, "s", lambda: 1_000_000 + OVERLAP_SECONDS).read()  # type: ignore[arg-type]
    assert client.asked == ["AWSCURRENT"]


class ListInMemory:
    """An allow-list, and the operations of its owner."""

    def __init__(self, directory: Path) -> None:
        self._memory = InMemoryAllowList("5eed5eed5eed5e1f")
        self.record = self._memory

    def write(self, text: str) -> None:
        self._memory.text = text

    def delete(self) -> None:
        self._memory.unavailable = True


class ListInFile:
    def __init__(self, directory: Path) -> None:
        self._path = directory / "allow-list"
        self._path.write_text("5eed5eed5eed5e1f")
        self.record = AllowListFile(self._path)

    def write(self, text: str) -> None:
        self._path.write_text(text)

    def delete(self) -> None:
        self._path.unlink()


class ListInDynamoDB:
    def __init__(self, directory: Path) -> None:
        self._client = moto_client("dynamodb")
        self._table = f"cache-{uuid.uuid4().hex}"
        create_cache_table(self._client, self._table)
        self._list = DynamoDBAllowList(self._client, self._table)
        self.record = self._list
        self.write("5eed5eed5eed5e1f")

    def write(self, text: str) -> None:
        self._list.replace(text)

    def delete(self) -> None:
        self._client.delete_item(TableName=self._table, Key=ALLOW_LIST_KEY)


KeptList = ListInMemory | ListInFile | ListInDynamoDB


@pytest.fixture(params=[ListInMemory, ListInFile, ListInDynamoDB])
def kept_list(request: pytest.FixtureRequest, tmp_path: Path) -> KeptList:
    made: KeptList = request.param(tmp_path)
    return made


def test_reads_the_allow_list_as_written(kept_list: KeptList) -> None:
    assert kept_list.record.read() == AllowList({0x5EED5EED5EED5E1F: None})


def test_next_read_returns_the_changed_allow_list(kept_list: KeptList) -> None:
    kept_list.record.read()
    kept_list.write("5eed5eed5eed5e2a # another\nwhat is this")
    assert kept_list.record.read() == AllowList({0x5EED5EED5EED5E2A: None}, malformed=1)


def test_list_of_10000_certificates_and_empty_list_can_be_read(kept_list: KeptList) -> None:
    serials = range(0x5EED5EED5EED0000, 0x5EED5EED5EED0000 + 10_000)
    kept_list.write(format_entries(map(AllowListEntry, serials)))
    assert kept_list.record.read().until.keys() == set(serials)
    kept_list.write("")
    assert kept_list.record.read() == AllowList()


def test_raises_store_unavailable_when_allow_list_is_missing(kept_list: KeptList) -> None:
    kept_list.delete()
    with pytest.raises(
        CredentialStoreUnavailable, match=r"the allow-list .* cannot be read|has no allow-list|the store is unavailable"
    ):
        kept_list.record.read()


def test_raises_store_unavailable_when_table_is_missing_or_does_not_respond() -> None:
    client = moto_client("dynamodb")
    with pytest.raises(CredentialStoreUnavailable, match="the table does not exist"):
        DynamoDBAllowList(client, "absent").read()
    client.meta.events.register("before-send", lambda **_: (_ for _ in ()).throw(ConnectTimeoutError(endpoint_url="x")))
    with pytest.raises(CredentialStoreUnavailable, match="ConnectTimeoutError"):
        DynamoDBAllowList(client, "absent").read()


def test_raises_store_unavailable_when_file_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "allow-list").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CredentialStoreUnavailable, match="is not text"):
        AllowListFile(tmp_path / "allow-list").read()
