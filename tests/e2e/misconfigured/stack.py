"""Misconfigurations of the deployed stack and of the configuration that `berth scheduler-config` prints for it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from berth.configuration.dynamodb_store import KEY as CONFIGURATION_KEY
from berth.dynamodb import HEAD_KEY
from berth_cli.doctor.findings import CheckName
from berth_cli.sources.server import without_credentials
from tests.deployment import sam
from tests.e2e.berth.endpoint import Endpoint
from tests.e2e.berth.stack import DeployedStack
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.document_changes import Change, extender

from .misconfiguration import ExpectedFinding, Misconfiguration, Options

HOUR = 3600
START_SECONDS = 90
POLL_SECONDS = 0.2
FRESH_SECONDS = 10
INVALID_KUBECONFIG = "not a kubeconfig"


@dataclass(frozen=True)
class StackSetUp:
    stack: DeployedStack
    directory: Path
    document: Path

    @property
    def options(self) -> Options:
        return (
            f"--stack={sam.STACK_NAME}",
            # Only the emulator resolves the host name of the stack's output.
            f"--url={without_credentials(self.stack.url_prefix)}",
            f"--scheduler-config={self.document}",
            "--timeout=15",
        )

    @property
    def table(self) -> str:
        return self.stack.name("CacheTable")

    def enable(self, enabled: bool) -> None:
        scheduler = self.stack.client("scheduler")
        schedule = scheduler.get_schedule(Name=self.stack.schedule)
        original = {key: schedule[key] for key in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")}
        scheduler.update_schedule(**original, State="ENABLED" if enabled else "DISABLED")

    def start_watcher(self) -> None:
        """Start the watcher as the schedule does, and wait until it has published."""
        self.stack.client("lambda").invoke(FunctionName=self.stack.name("WatcherFunction"), InvocationType="Event")
        deadline = time.monotonic() + START_SECONDS
        while not self._is_fresh():
            assert time.monotonic() < deadline, f"no watcher has published in {START_SECONDS} s"
            time.sleep(POLL_SECONDS)

    def _is_fresh(self) -> bool:
        answer = Endpoint(self.stack.url_prefix.removesuffix("/scheduler")).get("healthz")
        age = answer.json().get("heartbeatAgeSeconds") if answer.status == 200 else None
        return age is not None and age < FRESH_SECONDS


@contextmanager
def _configured(setup: StackSetUp, change: Change) -> Iterator[Options]:
    document: dict[str, Any] = yaml.safe_load(setup.document.read_text())
    change(document)
    path = setup.directory / "changed.yaml"
    path.write_text(yaml.safe_dump(document))
    yield (f"--scheduler-config={path}",)


@contextmanager
def _wrong_password(setup: StackSetUp) -> Iterator[Options]:
    wrong = setup.stack.url_prefix_with(urlsplit(setup.stack.url_prefix).username or "", "wrong")
    with _configured(setup, extender(urlPrefix=wrong)) as options:
        yield options


@contextmanager
def _another_stack(setup: StackSetUp) -> Iterator[Options]:
    yield ("--stack=elsewhere",)


@contextmanager
def _another_cluster(setup: StackSetUp) -> Iterator[Options]:
    home = setup.directory / "another-cluster"
    home.mkdir()
    with ControlPlane(home) as other:
        yield (f"--kubeconfig={other.kubeconfig()}",)


@contextmanager
def _disabled_schedule(setup: StackSetUp) -> Iterator[Options]:
    setup.enable(False)
    try:
        yield ()
    finally:
        setup.enable(True)


@contextmanager
def _concurrency_zero(setup: StackSetUp) -> Iterator[Options]:
    """Set it for a function that this scheduler does not call."""
    client, function = setup.stack.client("lambda"), setup.stack.name("FilterOnlyOneFunction")
    client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    try:
        yield ()
    finally:
        client.delete_function_concurrency(FunctionName=function)


@contextmanager
def _invalid_configuration(setup: StackSetUp) -> Iterator[Options]:
    """The head does not refer to it yet, so no function uses it."""
    client, table = setup.stack.client("dynamodb"), setup.table
    before = client.get_item(TableName=table, Key=CONFIGURATION_KEY).get("Item")
    client.put_item(TableName=table, Item=CONFIGURATION_KEY | {"document": {"S": json.dumps({"profile": "none-such"})}})
    try:
        yield ()
    finally:
        if before is None:
            client.delete_item(TableName=table, Key=CONFIGURATION_KEY)
        else:
            client.put_item(TableName=table, Item=before)


@contextmanager
def _invalid_kubeconfig(setup: StackSetUp) -> Iterator[Options]:
    client, parameters = setup.stack.client("secretsmanager"), setup.stack.client("cloudformation")
    [described] = parameters.describe_stacks(StackName=sam.STACK_NAME)["Stacks"]
    secrets = {
        each["ParameterValue"]
        for each in described["Parameters"]
        if each["ParameterKey"].endswith("KubeconfigSecretArn") and each["ParameterValue"]
    }
    original = {secret: client.get_secret_value(SecretId=secret)["SecretString"] for secret in secrets}
    for secret in secrets:
        client.put_secret_value(SecretId=secret, SecretString=INVALID_KUBECONFIG)
    try:
        yield ()
    finally:
        for secret, text in original.items():
            client.put_secret_value(SecretId=secret, SecretString=text)


@contextmanager
def _watcher_stopped(setup: StackSetUp) -> Iterator[Options]:
    """Write the head as it is an hour after the schedule was disabled. The running watcher loses its lease."""
    client, table = setup.stack.client("dynamodb"), setup.table
    setup.enable(False)
    try:
        head = client.get_item(TableName=table, Key=HEAD_KEY, ConsistentRead=True)["Item"]
        client.put_item(TableName=table, Item=_one_hour_older(head))
        try:
            yield ()
        finally:
            # A released lease: the next watcher does not wait for its expiry.
            client.update_item(
                TableName=table,
                Key=HEAD_KEY,
                UpdateExpression="SET holderIdentity = :holder, leaseDurationSeconds = :one ADD resourceVersion :one",
                ExpressionAttributeValues={":holder": {"S": ""}, ":one": {"N": "1"}},
            )
    finally:
        setup.enable(True)
        setup.start_watcher()


def _one_hour_older(head: dict[str, Any]) -> dict[str, Any]:
    def older(value: dict[str, str]) -> dict[str, str]:
        return {"N": str(float(value["N"]) - HOUR)}

    positions = {
        name: {"L": [found["L"][0], older(found["L"][1]), *found["L"][2:]]}
        for name, found in head["positions"]["M"].items()
    }
    return head | {
        "holderIdentity": {"S": "gone"},
        "leaseTransitions": {"N": str(int(head["leaseTransitions"]["N"]) + 1)},
        "resourceVersion": {"N": str(int(head["resourceVersion"]["N"]) + 1000)},
        "positions": {"M": positions},
        **{name: older(head[name]) for name in ("renewTime", "heartbeat", "observedAt")},
    }


@contextmanager
def _missing_table(setup: StackSetUp) -> Iterator[Options]:
    """Delete the table, and create it empty afterwards; the watcher fills it."""
    client, table = setup.stack.client("dynamodb"), setup.table
    described = client.describe_table(TableName=table)["Table"]
    client.delete_table(TableName=table)
    try:
        yield ()
    finally:
        original = {name: described[name] for name in ("TableName", "KeySchema", "AttributeDefinitions")}
        client.create_table(**original, BillingMode="PAY_PER_REQUEST")
        specification = {"Enabled": True, "AttributeName": "expiresAt"}
        client.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)
        setup.start_watcher()


CASES: tuple[Misconfiguration[StackSetUp], ...] = (
    Misconfiguration(
        "wrong password",
        {CheckName.CREDENTIALS: ExpectedFinding("not authorized", "credentials that Berth accepts")},
        _wrong_password,
    ),
    Misconfiguration(
        "missing stack",
        {CheckName.STACK: ExpectedFinding("elsewhere", "name, region and credentials")},
        _another_stack,
    ),
    Misconfiguration(
        "stack of another cluster",
        {CheckName.SAME_CLUSTER: ExpectedFinding("the cache is of cluster", "one stack per cluster")},
        _another_cluster,
    ),
    Misconfiguration(
        "disabled schedule",
        {CheckName.SCHEDULE: ExpectedFinding("nothing starts the watcher", "enable it")},
        _disabled_schedule,
    ),
    Misconfiguration(
        "reserved concurrency 0",
        {CheckName.FUNCTIONS: ExpectedFinding("FilterOnlyOneFunction: its reserved concurrency is 0", "deploy again")},
        _concurrency_zero,
    ),
    Misconfiguration(
        "invalid configuration",
        {CheckName.CONFIGURATION: ExpectedFinding("profile: Input should be", "berth config apply")},
        _invalid_configuration,
    ),
    Misconfiguration(
        "invalid kubeconfig secret",
        {CheckName.KUBECONFIG_SECRET: ExpectedFinding("is not a kubeconfig", "put a kubeconfig")},
        _invalid_kubeconfig,
    ),
    Misconfiguration(
        "watcher stopped an hour ago",
        {
            CheckName.SCHEDULE: ExpectedFinding("nothing starts the watcher", "enable it"),
        },
        _watcher_stopped,
        effects=frozenset(
            {
                CheckName.LEASE,
                CheckName.WATCHER,
                CheckName.CACHE,
                CheckName.FILTER_VERB,
                CheckName.PRIORITIZE_VERB,
                CheckName.PREEMPT_VERB,
            }
        ),
    ),
    Misconfiguration(
        "missing table",
        {
            CheckName.TABLE: ExpectedFinding("does not exist", "stack"),
        },
        _missing_table,
        effects=frozenset({CheckName.CACHE, CheckName.FILTER_VERB, CheckName.PRIORITIZE_VERB, CheckName.PREEMPT_VERB}),
    ),
)
