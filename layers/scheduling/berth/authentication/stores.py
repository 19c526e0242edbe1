"""The stores of credentials: the port, and its adapters for Secrets Manager and for a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.basic import InvalidSecret, Passwords, credentials_digest
from berth.authentication.outcomes import CredentialStoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

T = TypeVar("T")
Stored = TypeVar("Stored")


class CredentialStore(ABC, Generic[Stored]):
    @abstractmethod
    def read(self) -> Stored:
        """Read the credentials, uncached, with one or two calls. Raises CredentialStoreUnavailable."""


PasswordStore = CredentialStore[Passwords]

AllowListStore = CredentialStore[AllowList]


class Wait(Protocol):
    """Limits the time that a request waits for a read of a store."""

    def __call__(self, read: Callable[[], T]) -> T:
        """Call `read` and return its result. Raises CredentialStoreUnavailable if `read` raises it or takes too long;
        a slow `read` may still be running."""
        ...


def wait_to_the_end(read: Callable[[], T]) -> T:
    return read()


class AllowListFile(AllowListStore):
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> AllowList:
        try:
            return parse(self._path.read_text())
        except OSError as error:
            raise CredentialStoreUnavailable(f"the allow-list {self._path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise CredentialStoreUnavailable(f"the allow-list {self._path} is not text") from error


OVERLAP_SECONDS = 24 * 3600.0
"""Seconds after a rotation in which the previous password is still accepted."""

CURRENT, PREVIOUS = "AWSCURRENT", "AWSPREVIOUS"
_ABSENT = "ResourceNotFoundException"


class SecretsManagerPasswords(PasswordStore):
    """Passwords in Secrets Manager. A read is one call; two calls on the first day of the current version."""

    def __init__(self, client: SecretsManagerClient, secret_id: str, wall: Callable[[], float]) -> None:
        """Create the store. `secret_id`: ARN or name of the secret. `wall`: returns the seconds since the epoch."""
        self._client = client
        self._secret_id = secret_id
        self._wall = wall

    def read(self) -> Passwords:
        try:
            current, created = self._version(CURRENT)
            until = created + OVERLAP_SECONDS
            previous = self._previous() if self._wall() < until else None
        except (ClientError, BotoCoreError) as error:
            raise CredentialStoreUnavailable(f"the password's secret cannot be read: {_code(error)}") from None
        except InvalidSecret as error:
            raise CredentialStoreUnavailable(f"{error}; it has to be an object with username and password") from None
        return Passwords(current, previous, until if previous else 0.0)

    def _version(self, stage: str) -> tuple[bytes, float]:
        answer = self._client.get_secret_value(SecretId=self._secret_id, VersionStage=stage)
        return credentials_digest(answer.get("SecretString", "")), answer["CreatedDate"].timestamp()

    def _previous(self) -> bytes | None:
        """Return the previous digest, or None if there is no previous version yet or it is not a valid secret."""
        try:
            return self._version(PREVIOUS)[0]
        except InvalidSecret:
            return None
        except ClientError as error:
            if _code(error) == _ABSENT:
                return None
            raise


def _code(error: ClientError | BotoCoreError) -> str:
    return error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
