"""The deployed stack, with the scheduler's configuration that `berth scheduler-config` prints for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from berth.configuration.dynamodb_store import KEY as CONFIGURATION_KEY
from berth.lease.dynamodb_item import HEAD_KEY
from berth_cli.doctor.findings import CheckName
from berth_cli.doctor.scheduler.scheduler_side import without_credentials
from tests.deployment import sam

from .control_plane import ControlPlane
from .document_changes import Change, entry
from .endpoint import Endpoint
from .misconfiguration import Broken, Options, Said
from .stack import DeployedStack

HOUR = 3600
START_SECONDS = 90
POLL_SECONDS = 0.2
FRESH_SECONDS = 10
NOBODY = "kubeconfig that is none"


@dataclass(frozen=True)
class StackSetUp:
    stack: DeployedStack
    directory: Path
    document: Path

    @property
    def options(self) -> Options:
        return (
            f"--stack={sam.STACK_NAME}",
            # The stack's own address has a host name that only the emulator knows.
            f"--url={without_credentials(self.stack.url_prefix)}",
            f"--scheduler-config={self.document}",
            "--timeout=30",
        )

    @property
    def table(self) -> str:
        return self.stack.name("CacheTable")

    def enable(self, enabled: bool) -> None:
        scheduler = self.stack.client("scheduler")
        schedule = scheduler.get_schedule(Name=self.stack.schedule)
        kept = {key: schedule[key] for key in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")}
        scheduler.update_schedule(**kept, State="ENABLED" if enabled else "DISABLED")

    def start_watcher(self) -> None:
        """As the schedule does within the minute, and wait until it has published."""
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
def _configured(sound: StackSetUp, change: Change) -> Iterator[Options]:
    document: dict[str, Any] = yaml.safe_load(sound.document.read_text())
    change(document)
    path = sound.directory / "changed.yaml"
    path.write_text(yaml.safe_dump(document))
    yield (f"--scheduler-config={path}",)


@contextmanager
def _wrong_password(sound: StackSetUp) -> Iterator[Options]:
    wrong = sound.stack.url_prefix_with(urlsplit(sound.stack.url_prefix).username or "", "wrong")
    with _configured(sound, entry(urlPrefix=wrong)) as options:
        yield options


@contextmanager
def _another_stack(sound: StackSetUp) -> Iterator[Options]:
    yield ("--stack=elsewhere",)


@contextmanager
def _another_cluster(sound: StackSetUp) -> Iterator[Options]:
    home = sound.directory / "another-cluster"
    home.mkdir()
    with ControlPlane(home) as other:
        yield (f"--watcher-kubeconfig={other.kubeconfig()}",)


@contextmanager
def _disabled(sound: StackSetUp) -> Iterator[Options]:
    sound.enable(False)
    try:
        yield ()
    finally:
        sound.enable(True)


@contextmanager
def _no_concurrency(sound: StackSetUp) -> Iterator[Options]:
    """Of a function that this scheduler does not call."""
    client, function = sound.stack.client("lambda"), sound.stack.name("FilterOnlyOneFunction")
    client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    try:
        yield ()
    finally:
        client.delete_function_concurrency(FunctionName=function)


def without_table(function: str) -> Callable[[StackSetUp], AbstractContextManager[Options]]:
    """Without the statements of its role that are about tables."""
    return lambda sound: _without_table(sound, f"{function}Role")


@contextmanager
def _without_table(sound: StackSetUp, logical_id: str) -> Iterator[Options]:
    client, role = sound.stack.client("iam"), sound.stack.name(logical_id)
    kept = {}
    for name in client.list_role_policies(RoleName=role)["PolicyNames"]:
        kept[name] = client.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        fewer = [each for each in kept[name]["Statement"] if "dynamodb" not in json.dumps(each)]
        _put(client, role, name, {**kept[name], "Statement": fewer})
    try:
        yield ()
    finally:
        for name, document in kept.items():
            _put(client, role, name, document)


def _put(client: Any, role: str, name: str, document: dict[str, Any]) -> None:
    if document["Statement"]:
        client.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document))
    else:
        client.delete_role_policy(RoleName=role, PolicyName=name)


@contextmanager
def _invalid_configuration(sound: StackSetUp) -> Iterator[Options]:
    """The head does not point to it yet: no function decides by it."""
    client, table = sound.stack.client("dynamodb"), sound.table
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
def _no_kubeconfig(sound: StackSetUp) -> Iterator[Options]:
    client, parameters = sound.stack.client("secretsmanager"), sound.stack.client("cloudformation")
    [described] = parameters.describe_stacks(StackName=sam.STACK_NAME)["Stacks"]
    secrets = {
        each["ParameterValue"]
        for each in described["Parameters"]
        if each["ParameterKey"].endswith("KubeconfigSecretArn") and each["ParameterValue"]
    }
    kept = {secret: client.get_secret_value(SecretId=secret)["SecretString"] for secret in secrets}
    for secret in secrets:
        client.put_secret_value(SecretId=secret, SecretString=NOBODY)
    try:
        yield ()
    finally:
        for secret, text in kept.items():
            client.put_secret_value(SecretId=secret, SecretString=text)


@contextmanager
def _stopped_an_hour_ago(sound: StackSetUp) -> Iterator[Options]:
    """The head as it looks an hour after the schedule was disabled. It deposes the watcher that runs."""
    client, table = sound.stack.client("dynamodb"), sound.table
    sound.enable(False)
    try:
        head = client.get_item(TableName=table, Key=HEAD_KEY, ConsistentRead=True)["Item"]
        client.put_item(TableName=table, Item=_an_hour_older(head))
        try:
            yield ()
        finally:
            # As a watcher leaves it that releases it: the next one need not wait until it has run out.
            client.update_item(
                TableName=table,
                Key=HEAD_KEY,
                UpdateExpression="SET holderIdentity = :nobody, leaseDurationSeconds = :one ADD resourceVersion :one",
                ExpressionAttributeValues={":nobody": {"S": ""}, ":one": {"N": "1"}},
            )
    finally:
        sound.enable(True)
        sound.start_watcher()


def _an_hour_older(head: dict[str, Any]) -> dict[str, Any]:
    def older(value: dict[str, str]) -> dict[str, str]:
        return {"N": str(float(value["N"]) - HOUR)}

    positions = {
        name: {"M": {**found["M"], "observedAt": older(found["M"]["observedAt"])}}
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
def _no_table(sound: StackSetUp) -> Iterator[Options]:
    """It comes back empty, as the next deployment makes it; the watcher fills it."""
    client, table = sound.stack.client("dynamodb"), sound.table
    described = client.describe_table(TableName=table)["Table"]
    client.delete_table(TableName=table)
    try:
        yield ()
    finally:
        kept = {name: described[name] for name in ("TableName", "KeySchema", "AttributeDefinitions")}
        client.create_table(**kept, BillingMode="PAY_PER_REQUEST")
        specification = {"Enabled": True, "AttributeName": "expiresAt"}
        client.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)
        sound.start_watcher()


CASES: tuple[Broken[StackSetUp], ...] = (
    Broken(
        "a wrong password",
        {CheckName.CREDENTIALS: Said("not authorized", "credentials that Berth accepts")},
        _wrong_password,
    ),
    Broken(
        "a stack that is not there",
        {CheckName.STACK: Said("elsewhere", "name, region and credentials")},
        _another_stack,
    ),
    Broken(
        "the stack of another cluster",
        {CheckName.SAME_CLUSTER: Said("the cache is of cluster", "one stack per cluster")},
        _another_cluster,
    ),
    Broken(
        "a schedule that is disabled",
        {CheckName.SCHEDULE: Said("nothing starts the watcher", "enable it")},
        _disabled,
    ),
    Broken(
        "a function that never runs",
        {CheckName.FUNCTIONS: Said("FilterOnlyOneFunction: its reserved concurrency is 0", "deploy again")},
        _no_concurrency,
    ),
    Broken(
        "a role that lacks a statement",
        {CheckName.ROLES: Said("FilterOnlyOneFunction may not dynamodb:Query", "deploy the stack again")},
        without_table("FilterOnlyOneFunction"),
    ),
    Broken(
        "a role that lacks a statement, of a function that is called",
        {
            CheckName.ROLES: Said("HealthzFunction may not dynamodb:GetItem", "deploy the stack again"),
            CheckName.CACHE: Said("node cache table", "watcher's log"),
        },
        without_table("HealthzFunction"),
    ),
    Broken(
        "a configuration that is not valid",
        {CheckName.CONFIGURATION: Said("profile: Input should be", "berth config apply")},
        _invalid_configuration,
    ),
    Broken(
        "a secret without a kubeconfig",
        {CheckName.KUBECONFIG_SECRET: Said("is not a kubeconfig", "put a kubeconfig")},
        _no_kubeconfig,
    ),
    Broken(
        "a watcher that ended an hour ago",
        {
            CheckName.SCHEDULE: Said("nothing starts the watcher", "enable it"),
            CheckName.LEASE: Said("no successor", "schedule"),
            CheckName.WATCHER: Said("no watcher is running", "schedule"),
            CheckName.CACHE: Said("whenStale applies", "watcher's log"),
            CheckName.FILTER_VERB: Said("filter: ", "see the checks"),
            CheckName.PRIORITIZE_VERB: Said("no scores", "log"),
        },
        _stopped_an_hour_ago,
    ),
    Broken(
        "no table",
        {
            CheckName.TABLE: Said("does not exist", "stack"),
            CheckName.CACHE: Said("node cache table", "watcher's log"),
        },
        _no_table,
        # They decide by what they have in memory, if they have looked since the case before.
        may=frozenset({CheckName.FILTER_VERB, CheckName.PRIORITIZE_VERB}),
    ),
)
