"""ministack, which knows every condition that template.yaml uses but for one key: `dynamodb:LeadingKeys`.

Run by ministack's own interpreter (`.tools/ministack/bin/python`). On AWS the key has the partition keys that a
request names; ministack leaves it out, and a statement with a Null guard would hold for nothing. Here it is as AWS
documents it, for requests that name one item or one partition. Others have none, and the guard refuses them: a Scan, as
on AWS, and batches and transactions, here only. Berth makes none of them.
"""

from __future__ import annotations

import json
import re
from contextvars import ContextVar
from typing import Any

from ministack import app  # type: ignore[import-not-found]
from ministack.core import iam_actions, iam_evaluator  # type: ignore[import-not-found]
from ministack.services import dynamodb, iam  # type: ignore[import-not-found]

LEADING_KEYS = "dynamodb:LeadingKeys"
PARTITION_KEY = "pk"  # the partition key of both tables

_told_to_the_simulator: ContextVar[list[str] | None] = ContextVar("told_to_the_simulator", default=None)


def leading_keys(request: dict[str, Any], partition_key: str) -> list[str] | None:
    """The partition keys that a DynamoDB request names, None where it names none."""
    for part in ("Key", "Item"):
        if partition_key in request.get(part, {}):
            return [str(value) for value in request[part][partition_key].values()]
    names = request.get("ExpressionAttributeNames", {})
    for name, value in re.findall(r"([#\w]+)\s*=\s*(:\w+)", request.get("KeyConditionExpression", "")):
        if names.get(name, name) == partition_key:
            return [str(each) for each in request["ExpressionAttributeValues"][value].values()]
    return None


def _service_context(body: bytes) -> dict[str, Any]:
    context: dict[str, Any] = _without_leading_keys(body)
    try:
        request = json.loads(body)
        table = dynamodb._tables.get(request["TableName"].rpartition("/")[2])
        # A table that is gone is taken for one of the template's, so that the answer is that it is gone.
        found = leading_keys(request, PARTITION_KEY if table is None else table["pk_name"])
    except (ValueError, KeyError, AttributeError, TypeError):
        return context
    return context if found is None else context | {LEADING_KEYS: found}


def _simulated(request: Any) -> Any:
    """With what the request says of the key in `ContextEntries`."""

    def value(path: str) -> str:
        return str(iam._p(request, path) or "")

    entry = 1
    while (name := value(f"ContextEntries.member.{entry}.ContextKeyName")) and name != LEADING_KEYS:
        entry += 1
    keys: list[str] = []
    while name and (key := value(f"ContextEntries.member.{entry}.ContextKeyValues.member.{len(keys) + 1}")):
        keys.append(key)
    token = _told_to_the_simulator.set(keys or None)
    try:
        return _simulate(request)
    finally:
        _told_to_the_simulator.reset(token)


def _resolved(key: str, context: Any) -> Any:
    if key.lower() == LEADING_KEYS.lower() and (told := _told_to_the_simulator.get()) is not None:
        return told
    return _resolve(key, context)


_without_leading_keys, iam_actions.dynamodb_service_context = iam_actions.dynamodb_service_context, _service_context
_resolve, iam_evaluator._resolve_condition_key = iam_evaluator._resolve_condition_key, _resolved
_simulate, iam._IAM_HANDLERS["SimulatePrincipalPolicy"] = iam._simulate_principal_policy, _simulated

if __name__ == "__main__":
    app.main()
