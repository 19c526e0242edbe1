"""Quotas are checked first, and only a stack that the run created is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tools.acceptance.account import Account
from tools.acceptance.report import StepFailed, StepSkipped

REGION = "eu-central-1"
MISSING = ClientError({"Error": {"Code": "ValidationError", "Message": "Stack trial does not exist"}}, "DescribeStacks")


class FakeAws:
    """Lambda, STS and CloudFormation of one account. `stacks`: those that exist."""

    def __init__(self, concurrent: int = 10) -> None:
        self.stacks: set[str] = set()
        self._concurrent = concurrent

    def get_caller_identity(self) -> None:
        pass

    def get_account_settings(self) -> Mapping[str, Mapping[str, int]]:
        return {"AccountLimit": {"ConcurrentExecutions": self._concurrent, "UnreservedConcurrentExecutions": 3}}

    def describe_stacks(self, *, StackName: str) -> Mapping[str, Any]:  # noqa: N803  the name in AWS
        if StackName not in self.stacks:
            raise MISSING
        return {"Stacks": [{}]}

    def delete_stack(self, *, StackName: str) -> None:  # noqa: N803
        self.stacks.remove(StackName)

    def get_waiter(self, _: str) -> FakeAws:
        return self

    def wait(self, **_: object) -> None:
        pass


def account_with(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    account = Account("trial")
    monkeypatch.setattr(account, "_client", lambda _: aws)
    monkeypatch.setattr("berth_cli.sources.stack.boto3.client", lambda *_, **__: aws)
    return account


def test_a_quota_below_ten_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    account = account_with(FakeAws(concurrent=9), monkeypatch)
    with pytest.raises(StepFailed, match="9 concurrent executions, fewer than 10: request more under Service Quotas"):
        account.check()


def test_a_stack_that_exists_is_neither_used_nor_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = FakeAws()
    aws.stacks.add("trial")
    account = account_with(aws, monkeypatch)
    with pytest.raises(StepFailed, match="a stack trial exists"):
        account.check()
    with pytest.raises(StepSkipped, match="this run created no stack"):
        account.delete()
    assert aws.stacks == {"trial"}


def test_deletes_what_it_created(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = FakeAws()
    account = account_with(aws, monkeypatch)
    assert account.check() == ["eu-central-1; concurrent executions: 10, of which 3 are not reserved."]
    aws.stacks.add("trial")
    assert account.delete() == ["The stack is deleted; it had no ledger."]
    assert not aws.stacks


def test_a_region_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """boto3 does not read AWS_REGION."""
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(StepFailed, match="set AWS_DEFAULT_REGION"):
        Account("trial").check()


def test_region_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    assert Account("trial").region == "eu-west-3"
