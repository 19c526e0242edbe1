"""The pre-traffic hook of a deployment by CodeDeploy: it reports whether the verbs' new versions can decide.

It tests all verbs each time, whichever of them is deployed: if one fails, CloudFormation rolls back the whole update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from time import perf_counter
from typing import Any

import orjson
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from berth.runtime.aws_clients import LambdaClient
from berth.runtime.environment import Settings, variable
from berth.runtime.http.events import PRE_TRAFFIC_SOURCE, WARM_UP_EVENT
from berth.runtime.telemetry.metrics import measured_call
from berth.runtime.telemetry.telemetry import Telemetry

# A function ends at its own Timeout, 30 s at most, so even an invocation that hangs is answered in time.
CALLS = Config(connect_timeout=2, read_timeout=35, retries={"total_max_attempts": 2, "mode": "standard"})


@dataclass(frozen=True, kw_only=True)
class PreTrafficSettings(Settings):
    """The ARNs of the versions to test, by verb. The aliases still point to the previous versions."""

    filter: str = variable("BERTH_FILTER_VERSION")
    filter_onlyone: str = variable("BERTH_FILTER_ONLYONE_VERSION")
    prioritize: str = variable("BERTH_PRIORITIZE_VERSION")
    bind: str = variable("BERTH_BIND_VERSION")
    preempt: str = variable("BERTH_PREEMPT_VERSION")

    @property
    def versions(self) -> Mapping[str, str]:
        return asdict(self)


NAME = "berth-pre-traffic"
POD: Mapping[str, object] = {
    "metadata": {"name": NAME, "namespace": "default", "uid": NAME},
    "spec": {"containers": [{"name": "probe", "resources": {}}]},
    "status": {},
}
NOTHING_LOADED = "it found no snapshot in the cache table"


def probes(verb: str) -> tuple[Mapping[str, object], ...]:
    """Return the verb's events in order. Except for bind, a warm-up event loads the snapshot before the request."""
    body = orjson.dumps(_ARGUMENTS[verb]).decode()
    request = {"source": PRE_TRAFFIC_SOURCE, "body": body, "isBase64Encoded": False}
    return (request,) if verb == "bind" else (WARM_UP_EVENT, request)


_CANDIDATES = {"Pod": POD, "Nodes": None, "NodeNames": [NAME]}

_ARGUMENTS: Mapping[str, object] = {
    "filter": _CANDIDATES,
    "filter_onlyone": _CANDIDATES,
    "prioritize": _CANDIDATES,
    "bind": {},
    "preempt": {"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}},
}


def _defect_of(verb: str, event: Mapping[str, object], status: int, content: object) -> str:
    """Return the defect of the answer to a probe, or an empty text. With Basic credentials a failure of prioritize is
    an empty list (fact 18). bind has to reject its request: by then it has connected and read the rules."""
    call = "load" if event is WARM_UP_EVENT else verb
    match call, content:
        case "load", {"version": int(version)} if version > 0:
            return ""
        case "load", _:
            return NOTHING_LOADED
        case "filter" | "filter_onlyone", {"Error": "", "FailedNodes": dict()}:
            return ""
        case "prioritize", [{"Host": str(), "Score": int()}]:
            return ""
        case "prioritize", []:
            return "it failed without saying why; see its log"
        case "preempt", {"NodeNameToMetaVictims": dict()}:
            return ""
        case "bind", {"Error": str(error)} if error.startswith("the binding request has no valid "):
            return ""
        case "filter" | "filter_onlyone" | "bind", {"Error": str(error)} if error:
            return error
    return f"status {status}, and not what the verb answers"


class PreTrafficOutcome(StrEnum):
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class PreTrafficHook:
    """Tests the verbs' new versions and reports to CodeDeploy. `versions`: the ARN of each new version, by verb.
    `put_status`: CodeDeploy's put_lifecycle_event_hook_execution_status."""

    def __init__(self, versions: Mapping[str, str], functions: LambdaClient, put_status: Callable[..., object]) -> None:
        self._versions = versions
        self._functions = functions
        self._put_status = put_status
        self._telemetry = Telemetry("pre_traffic")

    def handle(self, event: object) -> dict[str, Any]:
        """Test and report; `defects` has a line for each verb that cannot decide. Raises if the report fails: then
        CodeDeploy ends the deployment itself, after an hour."""
        with measured_call():
            started = perf_counter()
            defects = list(self._defects())
            outcome = PreTrafficOutcome.FAILED if defects else PreTrafficOutcome.SUCCEEDED
            self._report(event, outcome)
            self._telemetry.ended(
                outcome,
                detail="; ".join(defects),
                milliseconds=(perf_counter() - started) * 1000,
                failed=bool(defects),
            )
            return {"status": outcome, "defects": defects}

    def _report(self, event: object, outcome: PreTrafficOutcome) -> None:
        match event:
            case {"DeploymentId": str(deployment), "LifecycleEventHookExecutionId": str(execution)}:
                self._put_status(deploymentId=deployment, lifecycleEventHookExecutionId=execution, status=outcome.value)

    def _defects(self) -> Iterator[str]:
        for verb, version in self._versions.items():
            for event in probes(verb):
                defect = self._defect(verb, version, event)
                if defect:
                    yield f"{verb}: {defect}"
                    break

    def _defect(self, verb: str, version: str, event: Mapping[str, object]) -> str:
        try:
            response = self._functions.invoke(
                FunctionName=version, InvocationType="RequestResponse", Payload=orjson.dumps(event)
            )
        except (ClientError, BotoCoreError) as error:
            return f"it cannot be invoked: {error}"
        if "FunctionError" in response:
            # Do not report its message, which may quote any data.
            return f"it ended by an error ({response['FunctionError']}); see its log"
        payload: Any = response["Payload"]
        with suppress(orjson.JSONDecodeError):
            match orjson.loads(payload.read()):
                case {"statusCode": int(status), "body": str(body)}:
                    return _defect_of(verb, event, status, orjson.loads(body))
        return "its answer is none of the API's"
