"""Stores of the allow-list: a file for `berth serve`, a Systems Manager parameter for a stack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.ports import AllowListStore, CredentialStoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_ssm.client import SSMClient


class AllowListFile(AllowListStore):
    """A file; every call reads it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> AllowList:
        try:
            return parse(self._path.read_text())
        except OSError as error:
            raise CredentialStoreUnavailable(f"the allow-list {self._path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise CredentialStoreUnavailable(f"the allow-list {self._path} is not text") from error


class ParameterStoreAllowList(AllowListStore):
    """A parameter of type String; it holds no secret. A read is one call."""

    def __init__(self, client: SSMClient, name: str) -> None:
        self._client = client
        self._name = name

    def read(self) -> AllowList:
        try:
            answer = self._client.get_parameter(Name=self._name)
        except (ClientError, BotoCoreError) as error:
            raise CredentialStoreUnavailable(f"the allow-list {self._name} cannot be read: {error}") from error
        return parse(answer["Parameter"].get("Value", ""))
