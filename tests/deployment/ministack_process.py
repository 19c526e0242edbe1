"""Run ministack by its own interpreter, with additional features that template.yaml and the tests need:

- The condition key `dynamodb:LeadingKeys`: the partition keys of a request, including all items of a batch or of a
  transaction (AWS does not document its value for a transaction). Other requests, such as Scan, do not have a key
  and are denied.
- The stack's parameters for the SAM transform: otherwise the hashes of logical ids would not depend on them.
- Alarms of metric math, which are created from their first metric alone.
- For a game day (tests/gameday), below TMPDIR: a function's lines are in `functions.log` at once, not only when its run
  ends; its wall clock is ahead by the seconds in `clock-NAME`; calls of DynamoDB that contain a word of the file
  `throttled` are throttled.
- A call that a gateway with mutual TLS passed on has the client's certificate in its event.
"""

from __future__ import annotations

import base64
import json
import os
import re
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ministack import app  # type: ignore[import-not-found]
from ministack.core import iam_actions, iam_evaluator, lambda_runtime, responses  # type: ignore[import-not-found]
from ministack.services import dynamodb, iam, lambda_svc  # type: ignore[import-not-found]
from ministack.services.cloudformation import (  # type: ignore[import-not-found]
    changesets,
    engine,
    handlers,
    provisioners,
)
from samtranslator.translator import transform as sam  # type: ignore[import-not-found]

LEADING_KEYS = "dynamodb:LeadingKeys"
PARTITION_KEY = "pk"  # the partition key of both tables

_simulated_keys: ContextVar[list[str] | None] = ContextVar("told_to_the_simulator", default=None)


def parts_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a request for each item of a batch or a transaction; any other request is its own only part."""
    if "TransactItems" in request:
        return [part for item in request["TransactItems"] for part in item.values()]
    if "RequestItems" in request:
        batches = request["RequestItems"].items()
        return [{"TableName": name, "Key": key} for name, batch in batches for key in _keys_of(batch)]
    return [request]


def _keys_of(batch: Any) -> list[dict[str, Any]]:
    """Return the keys in a table's part of BatchGetItem or BatchWriteItem."""
    if isinstance(batch, dict):
        return list(batch["Keys"])
    return [each.get("DeleteRequest", {}).get("Key") or each["PutRequest"]["Item"] for each in batch]


def leading_keys(request: dict[str, Any], partition_key: str) -> list[str] | None:
    """Return the partition keys of a DynamoDB request for an item or a partition; None for other requests."""
    for part in ("Key", "Item"):
        if partition_key in request.get(part, {}):
            return [str(value) for value in request[part][partition_key].values()]
    names = request.get("ExpressionAttributeNames", {})
    for name, value in re.findall(r"([#\w]+)\s*=\s*(:\w+)", request.get("KeyConditionExpression", "")):
        if names.get(name, name) == partition_key:
            return [str(each) for each in request["ExpressionAttributeValues"][value].values()]
    return None


def _context_with_leading_keys(body: bytes) -> dict[str, Any]:
    context: dict[str, Any] = _service_context(body)
    keys: list[str] = []
    try:
        for part in parts_of(json.loads(body)):
            table = dynamodb._tables.get(part["TableName"].rpartition("/")[2])
            # A missing table gets the template's partition key, so that the response is ResourceNotFoundException.
            found = leading_keys(part, PARTITION_KEY if table is None else table["pk_name"])
            if found is None:
                return context
            keys += found
    except (ValueError, KeyError, AttributeError, TypeError):
        return context
    return context | {LEADING_KEYS: keys} if keys else context


def _simulate_with_leading_keys(request: Any) -> Any:
    """Answer SimulatePrincipalPolicy with the key from the request's `ContextEntries`."""

    def value(path: str) -> str:
        return str(iam._p(request, path) or "")

    entry = 1
    while (name := value(f"ContextEntries.member.{entry}.ContextKeyName")) and name != LEADING_KEYS:
        entry += 1
    keys: list[str] = []
    while name and (key := value(f"ContextEntries.member.{entry}.ContextKeyValues.member.{len(keys) + 1}")):
        keys.append(key)
    token = _simulated_keys.set(keys or None)
    try:
        return _simulate(request)
    finally:
        _simulated_keys.reset(token)


def _resolve_with_leading_keys(key: str, context: Any) -> Any:
    if key.lower() == LEADING_KEYS.lower() and (simulated := _simulated_keys.get()) is not None:
        return simulated
    return _resolve(key, context)


_parameters: ContextVar[dict[str, str] | None] = ContextVar("parameters of the stack", default=None)


def _apply_transforms_with_parameters(template: Any, provided: Any = None, previous: Any = None) -> Any:
    token = _parameters.set(engine._transform_parameters(template, provided, previous))
    try:
        return _apply_transforms(template, provided, previous)
    finally:
        _parameters.reset(token)


def _transform_with_parameters(template: Any, parameters: dict[str, str], policies: Any) -> Any:
    return _transform(template, {**parameters, **(_parameters.get() or {})}, policies)


def _alarm_of_the_first_metric(name: str, properties: dict[str, Any]) -> Any:
    """Create an alarm of metric math with only its metric: the emulator does not evaluate it."""
    for each in properties.get("Metrics") or ():
        if stat := each.get("MetricStat"):
            rest = {key: value for key, value in properties.items() if key != "Metrics"}
            properties = {**rest, **stat["Metric"], "Statistic": stat["Stat"], "Period": stat["Period"]}
            break
    return _alarm_record(name, properties)


DIRECTORY = Path(os.environ.get("TMPDIR", "."))
CERTIFICATE_HEADER = "x-emulator-client-certificate"
_FOLLOW_CLOCK = f"""\
import os as _os, pathlib as _pathlib
_clock = {{"__name__": "wrong_clock"}}
exec(_pathlib.Path({str(Path(__file__).with_name("wrong_clock.py"))!r}).read_text(), _clock)
_clock["follow"](_pathlib.Path({str(DIRECTORY)!r}) / ("clock-" + _os.environ["AWS_LAMBDA_FUNCTION_NAME"]))
"""


def _read_stderr_at_once(worker: Any) -> None:
    with (DIRECTORY / "functions.log").open("a") as log:
        for line in worker._proc.stderr:
            log.write(json.dumps({"function": worker.func_name, "line": line.rstrip()}) + "\n")
            log.flush()
            worker._stderr_queue.put(line.rstrip("\n"))


def _execute_with_certificate(function: Any, event: Any) -> Any:
    described = event.get("headers", {}).pop(CERTIFICATE_HEADER, None) if isinstance(event, dict) else None
    if described is not None:
        certificate = json.loads(base64.b64decode(described))
        event["requestContext"]["authentication"] = {"clientCert": certificate}
    return _execute(function, event)


async def _handle_or_throttle(method: str, path: str, headers: Any, body: bytes, query: Any) -> Any:
    words = (DIRECTORY / "throttled").read_text().split() if (DIRECTORY / "throttled").exists() else []
    if any(each.encode() in body for each in words):
        return responses.error_response_json("ThrottlingException", "Throughput exceeds the limit", 400)
    return await _handle_dynamodb(method, path, headers, body, query)


_service_context, iam_actions.dynamodb_service_context = (
    iam_actions.dynamodb_service_context,
    _context_with_leading_keys,
)
_resolve, iam_evaluator._resolve_condition_key = iam_evaluator._resolve_condition_key, _resolve_with_leading_keys
_simulate, iam._IAM_HANDLERS["SimulatePrincipalPolicy"] = iam._simulate_principal_policy, _simulate_with_leading_keys
_transform, sam.transform = sam.transform, _transform_with_parameters
_execute, lambda_svc._execute_function_with_config_scope = (
    lambda_svc._execute_function_with_config_scope,
    _execute_with_certificate,
)
_handle_dynamodb, dynamodb.handle_request = dynamodb.handle_request, _handle_or_throttle
lambda_runtime.Worker._read_stderr = _read_stderr_at_once
lambda_runtime._PYTHON_WORKER_SCRIPT = _FOLLOW_CLOCK + lambda_runtime._PYTHON_WORKER_SCRIPT
_alarm_record, provisioners._cw_metric_alarm_record = provisioners._cw_metric_alarm_record, _alarm_of_the_first_metric
_apply_transforms = engine._apply_transforms
for module in (changesets, engine, handlers):
    module._apply_transforms = _apply_transforms_with_parameters

if __name__ == "__main__":
    app.main()
