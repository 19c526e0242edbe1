"""Passwords in Secrets Manager. A rotation turns the current version into the previous one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from berth.authentication.basic import InvalidSecret, Passwords, credentials_digest
from berth.authentication.ports import CredentialStoreUnavailable, PasswordStore

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

OVERLAP_SECONDS = 24 * 3600.0
"""How long after a rotation the previous password is still accepted."""

CURRENT, PREVIOUS = "AWSCURRENT", "AWSPREVIOUS"
_ABSENT = "ResourceNotFoundException"


class SecretsManagerPasswords(PasswordStore):
    """A read is one call; two calls on the first day of the current version."""

    def __init__(self, client: SecretsManagerClient, secret_id: str, wall: Callable[[], float]) -> None:
        """`secret_id`: ARN or name. `wall`: seconds since the epoch."""
        self._client = client
        self._secret_id = secret_id
        self._wall = wall

    def read(self) -> Passwords:
        try:
            current, created = self._version(CURRENT)
            until = created + OVERLAP_SECONDS
            previous = self._previous() if self._wall() < until else None
        except (ClientError, BotoCoreError) as error:
            raise CredentialStoreUnavailable(f"the password's secret cannot be read: {_cause(error)}") from None
        except InvalidSecret as error:
            raise CredentialStoreUnavailable(f"{error}; it has to be an object with username and password") from None
        return Passwords(current, previous, until if previous else 0.0)

    def _version(self, stage: str) -> tuple[bytes, float]:
        answer = self._client.get_secret_value(SecretId=self._secret_id, VersionStage=stage)
        return credentials_digest(answer.get("SecretString", "")), answer["CreatedDate"].timestamp()

    def _previous(self) -> bytes | None:
        """None: there is no previous version yet, or it is not a valid secret."""
        try:
            return self._version(PREVIOUS)[0]
        except InvalidSecret:
            return None
        except ClientError as error:
            if _code(error) == _ABSENT:
                return None
            raise


def _cause(error: ClientError | BotoCoreError) -> str:
    return _code(error) if isinstance(error, ClientError) else type(error).__name__


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
