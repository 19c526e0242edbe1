"""`berth watch` of the image on tables of the AWS emulator and a cluster on loopback.

It has the arguments, the volume and the probes of examples/watcher-pod.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from berth.dynamodb import HEAD_KEY
from berth.nodecache.feed.dynamodb_head import read_head
from tests.builders.event_fixtures import EVENTS
from tests.conftest import PROJECT
from tests.deployment.docker import DockerUnavailable, docker
from tests.deployment.dump_api_server import DumpApiServer
from tests.deployment.emulator import Emulator
from tests.e2e.kubernetes.loopback import HOST

from .container import Failed, logs, running, wait_until

MANIFEST = PROJECT / "examples" / "watcher-pod" / "watcher.yaml"
STACK = "berth-production"
"""As the manifest has it."""

KUBECONFIG = "/kubeconfig.yaml"
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
NOBODY_LISTENS = f"BERTH_HEALTH_URL=http://{HOST}:9/healthz"
"""The container has this machine's network: another server on port 8080 must not pass for the watcher."""


@dataclass(frozen=True)
class Watcher:
    """A container with `berth watch`, and the account whose tables it writes."""

    container: str
    emulator: Emulator

    def head(self) -> Any:
        """The head of the node cache, which is also the lease."""
        name = f"{STACK}-cache"
        return self.emulator.client("dynamodb").get_item(TableName=name, Key=HEAD_KEY).get("Item", {})


@contextmanager
def watching(image: str) -> Iterator[Watcher]:
    """Until the context exits."""
    [container] = _pod_spec()["containers"]
    [volume] = container["volumeMounts"]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with Emulator(directory / "account") as emulator, DumpApiServer(EVENTS / "cluster.yaml", HOST) as api_server:
            _create_stack(emulator)
            kubeconfig = directory / "kubeconfig.yaml"
            kubeconfig.write_text(yaml.safe_dump(api_server.kubeconfig()))
            variables = [f"{key}={value}" for key, value in emulator.environment().items() if key.startswith("AWS_")]
            options = (
                "--network=host",
                f"--tmpfs={volume['mountPath']}",
                f"--volume={kubeconfig}:{KUBECONFIG}:ro",
                *(f"--env={each}" for each in (*variables, NOBODY_LISTENS)),
            )
            with running(image, options, [*container["args"], f"--kubeconfig={KUBECONFIG}"]) as started:
                yield Watcher(started, emulator)


def passes_probes(watcher: Watcher) -> None:
    """Those of the manifest: a leader is known, and the watcher makes progress."""
    [container] = _pod_spec()["containers"]

    def problem() -> str:
        for probe in PROBES:
            try:
                docker("exec", watcher.container, *container[probe]["exec"]["command"])
            except DockerUnavailable as error:
                return f"{probe}: {error}"
        return ""

    wait_until(watcher.container, problem)


def leads_and_publishes(watcher: Watcher) -> None:
    """It holds the lease, and has published the cluster."""

    def problem() -> str:
        item = watcher.head()
        is_published = bool(item) and read_head(item).pointer is not None and item["holderIdentity"]["S"]
        return "" if is_published else f"the head of the cache is {item}"

    wait_until(watcher.container, problem)


def has_released_the_lease(watcher: Watcher) -> None:
    """It has stopped: a successor need not wait for the lease to expire."""
    holder = watcher.head()["holderIdentity"]["S"]
    if holder:
        raise Failed(f"the lease is held by {holder}\n{logs(watcher.container)}")


def _pod_spec() -> Any:
    deployment = next(yaml.safe_load_all(MANIFEST.read_text()))
    return deployment["spec"]["template"]["spec"]


def _create_stack(emulator: Emulator) -> None:
    """What `berth watch` reads of a stack with WatcherMode=external: its tables, parameters and outputs."""
    cloudformation = emulator.client("cloudformation")
    cloudformation.create_stack(
        StackName=STACK,
        TemplateBody=json.dumps(
            {
                "Parameters": {"Profile": {"Type": "String"}, "WatcherMode": {"Type": "String"}},
                "Resources": {
                    "CacheTable": _table(f"{STACK}-cache", sort_key="N"),
                    "LedgerTable": _table(f"{STACK}-ledger", sort_key="S"),
                },
                "Outputs": {
                    "CacheTableName": {"Value": {"Ref": "CacheTable"}},
                    "LedgerTableName": {"Value": {"Ref": "LedgerTable"}},
                    "HttpTimeoutSeconds": {"Value": "5"},
                },
            }
        ),
        Parameters=[
            {"ParameterKey": "Profile", "ParameterValue": "label-priority"},
            {"ParameterKey": "WatcherMode", "ParameterValue": "external"},
        ],
    )
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )


def _table(name: str, *, sort_key: str) -> dict[str, object]:
    """With the keys that template.yaml gives it."""
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": sort_key},
            ],
        },
    }
