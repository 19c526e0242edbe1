"""The allow-list in a parameter of Systems Manager: an operator changes it with one call, and no deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.ports import AllowListRecord, RecordUnavailable

if TYPE_CHECKING:
    from mypy_boto3_ssm.client import SSMClient


class ParameterStoreAllowList(AllowListRecord):
    """One call. The parameter is a String; it holds no secret."""

    def __init__(self, client: SSMClient, name: str) -> None:
        self._client = client
        self._name = name

    def read(self) -> AllowList:
        try:
            answer = self._client.get_parameter(Name=self._name)
        except (ClientError, BotoCoreError) as error:
            raise RecordUnavailable(f"the allow-list {self._name} cannot be read: {error}") from error
        return parse(answer["Parameter"].get("Value", ""))
