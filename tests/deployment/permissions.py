"""The permissions of each function's role in one table, checked on the template and by the policy simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from berth.authentication.dynamodb_allow_list import ALLOW_LIST_KEY
from berth.configuration.dynamodb_store import CACHE_KEY as CONFIGURATION_KEY
from berth.decisions.recorders import PARTITION_PREFIX as DECISION_PREFIX
from berth.dynamodb import HEAD_KEY
from berth.lease.dynamodb_lock import STANDBY_KEY
from berth.ledger.dynamodb_announcements import PARTITION as ANNOUNCED
from berth.ledger.gangs.dynamodb_item import PARTITION as GANG
from berth.ledger.nodes.dynamodb_item import MARKER_KEY, NODE_PREFIX, OPEN

from .template import KUBECONFIGS


def partition(key: Any) -> str:
    return str(key["pk"]["S"])


CACHE, LEDGER = {"Fn::GetAtt": "CacheTable.Arn"}, {"Fn::GetAtt": "LedgerTable.Arn"}
WATCHER_SECRET, BINDER_SECRET = KUBECONFIGS["WatcherKubeconfigSecretArn"], KUBECONFIGS["BinderKubeconfigSecretArn"]

HEAD, STANDBY, CONFIGURATION, MARKER = map(partition, (HEAD_KEY, STANDBY_KEY, CONFIGURATION_KEY, MARKER_KEY))
ALLOW_LIST = partition(ALLOW_LIST_KEY)
LOG, SNAPSHOT, NODE, DECISION = "log#*", "snapshot#*", f"{NODE_PREFIX}*", f"{DECISION_PREFIX}*"


@dataclass(frozen=True)
class Grant:
    """Actions on a resource, as the template names it; `keys` limits a table's items to these partitions."""

    actions: frozenset[str]
    resource: str
    keys: frozenset[str] = frozenset()


def on_table(table: Mapping[str, str], actions: str, *keys: str) -> Grant:
    """Return a grant of DynamoDB actions on items with these partition keys."""
    return Grant(frozenset(f"dynamodb:{action}" for action in actions.split()), str(table), frozenset(keys))


def on_resources(action: str, *resources: object) -> Grant:
    return Grant(frozenset({action}), str(resources[0] if len(resources) == 1 else list(resources)))


READ_WHETHER_LEDGER_COUNTS = on_table(LEDGER, "GetItem", MARKER, CONFIGURATION)
READ_CACHE_AND_OPEN_BINDS = [
    on_table(CACHE, "GetItem", HEAD, CONFIGURATION, ALLOW_LIST, SNAPSHOT),
    on_table(CACHE, "Query", LOG),
    on_table(CACHE, "PutItem", DECISION),
    on_table(LEDGER, "Query", ANNOUNCED, GANG, OPEN),
    READ_WHETHER_LEDGER_COUNTS,
]
WARM_UP_TARGETS = (
    "FilterFunction",
    "FilterOnlyOneFunction",
    "PrioritizeFunction",
    "BindFunction",
    "PreemptFunction",
    "AuthorizerFunction",
)

GRANTS: Mapping[str, list[Grant]] = {
    "FilterFunction": READ_CACHE_AND_OPEN_BINDS,
    "FilterOnlyOneFunction": READ_CACHE_AND_OPEN_BINDS,
    "PrioritizeFunction": READ_CACHE_AND_OPEN_BINDS,
    "PreemptFunction": READ_CACHE_AND_OPEN_BINDS,
    "BindFunction": [
        on_table(CACHE, "GetItem", HEAD, CONFIGURATION, ALLOW_LIST, SNAPSHOT),
        on_table(CACHE, "Query", LOG),
        on_table(CACHE, "PutItem", DECISION),
        on_table(LEDGER, "Query PutItem UpdateItem DeleteItem", ANNOUNCED),
        on_table(LEDGER, "GetItem BatchGetItem UpdateItem ConditionCheckItem", GANG, NODE, OPEN),
        on_table(LEDGER, "PutItem", GANG),
        READ_WHETHER_LEDGER_COUNTS,
        on_table(LEDGER, "PutItem DeleteItem", OPEN),
        on_resources("secretsmanager:GetSecretValue", BINDER_SECRET),
    ],
    "WatcherFunction": [
        on_table(CACHE, "GetItem", HEAD, STANDBY, CONFIGURATION, ALLOW_LIST, SNAPSHOT),
        on_table(CACHE, "Query", LOG),
        on_table(CACHE, "PutItem", LOG, SNAPSHOT, CONFIGURATION),
        on_table(CACHE, "UpdateItem", HEAD, STANDBY),
        on_table(LEDGER, "GetItem PutItem", GANG, MARKER, CONFIGURATION, NODE),
        on_table(LEDGER, "BatchGetItem UpdateItem ConditionCheckItem", GANG, NODE),
        on_table(LEDGER, "Query", GANG, OPEN),
        on_table(LEDGER, "DeleteItem", GANG, OPEN, NODE),
        on_resources("lambda:InvokeFunction", *({"Ref": f"{name}Aliaslive"} for name in WARM_UP_TARGETS)),
        on_resources("secretsmanager:GetSecretValue", WATCHER_SECRET),
    ],
    "HealthzFunction": [on_table(CACHE, "GetItem", HEAD, CONFIGURATION, ALLOW_LIST), READ_WHETHER_LEDGER_COUNTS],
    "AuthorizerFunction": [on_resources("secretsmanager:GetSecretValue", {"Fn::GetAtt": "PasswordSecret.Id"})],
}
"""The grants of a stack with kubeconfig secrets, basic authentication, and DynamoDB's own encryption key."""
