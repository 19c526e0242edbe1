"""Quotas are checked first, and only a stack that the run created is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from tools.acceptance.account import Account
from tools.acceptance.cost import FunctionUsage, TableUsage, cost
from tools.acceptance.run import StepFailed, StepSkipped

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
    account = Account(REGION, "trial")
    monkeypatch.setattr(account, "_client", lambda _: aws)
    monkeypatch.setattr("berth_cli.deployed_stack.boto3.client", lambda *_, **__: aws)
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
    assert account.check() == ["Concurrent executions: 10, of which 3 are not reserved."]
    aws.stacks.add("trial")
    assert account.delete() == ["The stack is deleted; it had no ledger."]
    assert not aws.stacks


def test_a_region_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """boto3 does not read AWS_REGION."""
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(StepFailed, match="set AWS_DEFAULT_REGION or give --region"):
        _ = Account(None, "trial").region


def test_region_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    assert Account(None, "trial").region == "eu-west-3"


SINCE, UNTIL = datetime(2026, 11, 22, 10, 0, 30, tzinfo=UTC), datetime(2026, 11, 22, 10, 14, 0, tzinfo=UTC)


class FakeMetrics(FakeAws):
    """A stack's resources, and CloudWatch as it answers: a datapoint for each minute that has one, in no order."""

    resources: ClassVar = [
        ("AWS::Lambda::Function", "FilterFunction", "trial-filter"),
        ("AWS::Lambda::Function", "BindFunction", "trial-bind"),
        ("AWS::DynamoDB::Table", "CacheTable", "trial-cache"),
        ("AWS::DynamoDB::Table", "LedgerTable", "trial-ledger"),
        ("AWS::ApiGatewayV2::Api", "Api", "a1b2c3d4e5"),
    ]

    def __init__(self, sums: Mapping[tuple[str, str], list[float]]) -> None:
        """sums: of each minute, by metric and the value of its dimension."""
        super().__init__()
        self.stacks.add("trial")
        self._sums = sums
        client = boto3.client("cloudwatch", region_name=REGION)
        self._request = client.meta.service_model.operation_model("GetMetricStatistics").input_shape

    def get_paginator(self, _: str) -> FakeMetrics:
        return self

    def paginate(self, **_: object) -> list[Mapping[str, Any]]:
        keys = ("ResourceType", "LogicalResourceId", "PhysicalResourceId")
        return [{"StackResourceSummaries": [dict(zip(keys, each, strict=True))]} for each in self.resources]

    def get_function_configuration(self, *, FunctionName: str) -> Mapping[str, object]:  # noqa: N803
        return {"MemorySize": 1024, "Architectures": ["arm64"], "FunctionName": FunctionName}

    def get_metric_statistics(self, **request: Any) -> Mapping[str, Any]:
        assert ParamValidator().validate(request, self._request).generate_report() == ""
        [dimension] = request["Dimensions"]
        sums = self._sums.get((request["MetricName"], dimension["Value"]), [])
        points = [
            {"Timestamp": SINCE.replace(second=0) + timedelta(minutes=minute), "Sum": each, "Unit": "None"}
            for minute, each in enumerate(sums)
        ]
        return {"Label": request["MetricName"], "Datapoints": points[::-1]}


def test_adds_the_datapoints_of_all_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = {
        ("Invocations", "trial-filter"): [60e3, 40e3, 1e3],
        ("Duration", "trial-filter"): [900_500.0, 600_250.0, 250.0],
        ("Throttles", "trial-filter"): [2e3],
        ("Invocations", "trial-bind"): [20e3],
        ("Duration", "trial-bind"): [800e3],
        ("ConsumedWriteCapacityUnits", "trial-cache"): [40e3, 40e3, 41e3],
        ("ConsumedReadCapacityUnits", "trial-cache"): [101_500.0, 20e3],
        ("Count", "a1b2c3d4e5"): [100e3, 21e3],
    }
    functions, tables, requests = account_with(FakeMetrics(sums), monkeypatch).usage(SINCE, UNTIL)
    assert functions == [
        FunctionUsage("bind", 1024, "arm64", 20_000, 800_000.0, 0, 0),
        FunctionUsage("filter", 1024, "arm64", 101_000, 1_501_000.0, 0, 2_000),
    ]
    assert tables == [TableUsage("CacheTable", 121_000.0, 121_500.0), TableUsage("LedgerTable", 0.0, 0.0)]
    assert requests == 121_000
    dollars = 121e3 * 0.20e-6 + 2_301 * 0.0000133334 + 121e3 * 0.625e-6 + 121.5e3 * 0.125e-6 + 121e3 * 1e-6
    assert list(cost(functions, tables, requests))[-1].startswith(f"Together ${dollars:.4f},")


def test_without_datapoints_there_is_no_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StepSkipped, match="CloudWatch has no metrics"):
        account_with(FakeMetrics({}), monkeypatch).usage(SINCE, UNTIL)
