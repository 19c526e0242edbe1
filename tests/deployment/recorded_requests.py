"""Requests of the functions to AWS as IAM evaluates them, recorded at the events of botocore's clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from botocore.model import OperationModel
from botocore.session import Session

from .policy_simulator import APPLICATION, STACK, Request, arn

FUNCTION: ContextVar[str] = ContextVar("function", default="WatcherFunction")
"""The function whose code runs; empty: the test. Threads begin with the default: lasting threads are the watcher's."""


@contextmanager
def as_function(name: str) -> Iterator[None]:
    """Attribute the requests of the block to this function's role."""
    token = FUNCTION.set(name)
    yield
    FUNCTION.reset(token)


class RecordedRequests:
    """Records the requests of every client that a session creates from now on."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        """`tables`: the ARNs by table name. Requests for other tables are not recorded."""
        self._tables = tables
        self._found: set[Request] = set()

    def listen(self, session: Session) -> None:
        """Start to record; call this before the session creates a client."""
        session.register("provide-client-params", self._record)

    def sorted(self) -> list[Request]:
        """Return the requests in an order that does not depend on threads."""
        return sorted(self._found, key=str)

    def _record(self, **event: Any) -> None:
        params: Mapping[str, Any] = event["params"]
        model: OperationModel = event["model"]
        role, service = FUNCTION.get(), model.service_model.service_name
        namespace = params["Namespace"] if service == "cloudwatch" else None
        for operation, part, key in parts_of(service, model.name, params):
            resource = self._resource(service, part)
            if role and resource is not None:
                self._found.add(Request(role, _action(service, operation), resource, key, namespace))

    def _resource(self, service: str, params: Mapping[str, Any]) -> str | None:
        """Return the ARN; * for a metric, and for an unknown call, which no role may make."""
        match service, params:
            case "dynamodb", {"TableName": str(name)}:
                return self._tables.get(name)
            case "secretsmanager", {"SecretId": str(secret)}:
                return secret
            case "lambda", {"FunctionName": str(function)}:
                return function
            case "cloudformation", {"StackName": str()}:
                return arn("cloudformation", f"stack/{STACK}/0a1b2c3d")
            case "codedeploy", {"deploymentId": str()}:
                return arn("codedeploy", f"deploymentgroup:{APPLICATION}/FilterFunctionDeploymentGroup-0A1B2C3D4E5F")
        return "*"


TRANSACTED = {"ConditionCheck": "ConditionCheckItem", "Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}
"""IAM does not know transactions: each item needs the right to its own action."""

Part = tuple[str, Mapping[str, Any], str | tuple[str, ...] | None]
"""An operation, its parameters, and its partition keys."""


def parts_of(service: str, operation: str, parameters: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the parts of a request that IAM evaluates: each item of a transaction, with its own key and with the keys
    of all items, because AWS does not document which IAM uses."""
    match parameters:
        case {"TransactItems": items}:
            parts = [(TRANSACTED[kind], part) for item in items for kind, part in item.items()]
            keys = [leading_key(action, part) or "" for action, part in parts]
            for (action, part), key in zip(parts, keys, strict=True):
                yield action, part, key
                yield action, part, tuple(sorted(set(keys)))
        case {"RequestItems": batches}:
            for name, batch in batches.items():
                keys = sorted({key["pk"]["S"] for key in batch["Keys"]})
                yield operation, {"TableName": name}, tuple(keys)
        case _:
            yield operation, parameters, leading_key(operation, parameters) if service == "dynamodb" else None


def leading_key(operation: str, parameters: Mapping[str, Any]) -> str | None:
    """Return the partition key of the request that DynamoDB passes to IAM."""
    match operation:
        case "Query":
            [name] = re.findall(r"pk = (:\w+)", parameters["KeyConditionExpression"])
            key: str = parameters["ExpressionAttributeValues"][name]["S"]
            return key
        case "PutItem":
            return str(parameters["Item"]["pk"]["S"])
        case "GetItem" | "UpdateItem" | "DeleteItem" | "ConditionCheckItem":
            return str(parameters["Key"]["pk"]["S"])
    return None


def _action(service: str, operation: str) -> str:
    return "lambda:InvokeFunction" if (service, operation) == ("lambda", "Invoke") else f"{service}:{operation}"
