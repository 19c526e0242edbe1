"""What each function's role may do, in one table: asserted on the template, and tried in the emulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from berth.configuration.dynamodb_store import KEY as CONFIGURATION_KEY
from berth.lease.dynamodb_item import HEAD_KEY, STANDBY_KEY
from berth.reservations.ledger.dynamodb_item import MARKER_KEY, NODE_PREFIX, OPEN

from .template import KUBECONFIGS


def partition(key: Any) -> str:
    """Of an item's key."""
    return str(key["pk"]["S"])


CACHE, LEDGER = {"Fn::GetAtt": "CacheTable.Arn"}, {"Fn::GetAtt": "LedgerTable.Arn"}
WATCHER_SECRET, BINDER_SECRET = KUBECONFIGS["WatcherKubeconfigSecretArn"], KUBECONFIGS["BinderKubeconfigSecretArn"]

HEAD, STANDBY, CONFIGURATION, MARKER = map(partition, (HEAD_KEY, STANDBY_KEY, CONFIGURATION_KEY, MARKER_KEY))
LOG, SNAPSHOT, NODE = "log#*", "snapshot#*", f"{NODE_PREFIX}*"


@dataclass(frozen=True)
class Grant:
    """Actions on one thing, as the template names it; of a table's items those of these partitions."""

    actions: frozenset[str]
    resource: str
    keys: frozenset[str] = frozenset()


def on(table: Mapping[str, str], actions: str, *keys: str) -> Grant:
    """Of DynamoDB's actions."""
    return Grant(frozenset(f"dynamodb:{action}" for action in actions.split()), str(table), frozenset(keys))


def may(action: str, *resources: object) -> Grant:
    """Another service's."""
    return Grant(frozenset({action}), str(resources[0] if len(resources) == 1 else list(resources)))


DECIDES = [
    on(CACHE, "GetItem", HEAD, CONFIGURATION, SNAPSHOT),
    on(CACHE, "Query", LOG),
    on(LEDGER, "Query", OPEN),
]
WARMED_UP = ("FilterFunction", "FilterOnlyOneFunction", "PrioritizeFunction", "PreemptFunction", "AuthorizerFunction")

GRANTS: Mapping[str, list[Grant]] = {
    "FilterFunction": DECIDES,
    "FilterOnlyOneFunction": DECIDES,
    "PrioritizeFunction": DECIDES,
    "PreemptFunction": DECIDES,
    "BindFunction": [
        on(CACHE, "GetItem", HEAD, CONFIGURATION),
        on(LEDGER, "GetItem UpdateItem", NODE),
        on(LEDGER, "PutItem DeleteItem", OPEN),
        may("secretsmanager:GetSecretValue", BINDER_SECRET),
    ],
    "WatcherFunction": [
        on(CACHE, "GetItem", HEAD, STANDBY, CONFIGURATION, SNAPSHOT),
        on(CACHE, "Query", LOG),
        on(CACHE, "PutItem", LOG, SNAPSHOT),
        on(CACHE, "UpdateItem", HEAD, STANDBY),
        on(LEDGER, "GetItem PutItem", MARKER, NODE),
        on(LEDGER, "UpdateItem", NODE),
        on(LEDGER, "Query", OPEN),
        on(LEDGER, "DeleteItem", OPEN, NODE),
        may("lambda:InvokeFunction", *({"Ref": f"{name}Aliaslive"} for name in WARMED_UP)),
        may("secretsmanager:GetSecretValue", WATCHER_SECRET),
    ],
    "HealthzFunction": [on(CACHE, "GetItem", HEAD, CONFIGURATION)],
    "AuthorizerFunction": [may("secretsmanager:GetSecretValue", {"Fn::GetAtt": "PasswordSecret.Id"})],
}
"""Of a stack with kubeconfigs, passwords, and DynamoDB's own key for its tables."""
