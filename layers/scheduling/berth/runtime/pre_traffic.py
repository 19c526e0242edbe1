"""The pre-traffic hook of a deployment by CodeDeploy: it reports whether the verbs' new versions can decide.

It tests all verbs each time, whichever of them is deployed: if one fails, CloudFormation rolls back the whole update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from time import perf_counter
from typing import Protocol, TypedDict

import orjson
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from berth.runtime.environment import Settings, variable
from berth.runtime.http.events import PRE_TRAFFIC_SOURCE, WARM_UP_EVENT
from berth.runtime.telemetry.telemetry import Telemetry

# A function ends by its own Timeout, 30 s at most, so even a function that hangs gives an answer in this time.
CALLS = Config(connect_timeout=2, read_timeout=35, retries={"total_max_attempts": 2, "mode": "standard"})


@dataclass(frozen=True, kw_only=True)
class PreTrafficSettings(Settings):
    """Name the ARN of each published version; the alias still points to the previous one."""

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


@dataclass(frozen=True, slots=True)
class Answer:
    """A function's answer: the status for the gateway and the decoded body."""

    status: int
    content: object


@dataclass(frozen=True, slots=True)
class Probe:
    """An event for the function, and a check of its answer, which returns the defect or ""."""

    event: Mapping[str, object]
    defect: Callable[[Answer], str]


def probes(verb: str) -> tuple[Probe, ...]:
    """Return the verb's probes in order: first load the snapshot, so that the decision has the time of a warm call."""
    return _PROBES[verb]


def _loads(answer: Answer) -> str:
    match answer.content:
        case {"version": int(version)} if version > 0:
            return ""
    return NOTHING_LOADED


def _filters(answer: Answer) -> str:
    match answer.content:
        case {"Error": "", "FailedNodes": dict()}:
            return ""
        case {"Error": str(error)} if error:
            return error
    return _unexpected(answer)


def _scores(answer: Answer) -> str:
    """Check the answer about one host. With Basic credentials a failure is an empty list (fact 18)."""
    match answer.content:
        case [{"Host": str(), "Score": int()}]:
            return ""
        case []:
            return "it failed without saying why; see its log"
    return _unexpected(answer)


def _agrees(answer: Answer) -> str:
    match answer.content:
        case {"NodeNameToMetaVictims": dict()}:
            return ""
    return _unexpected(answer)


def _refuses(answer: Answer) -> str:
    """Check that bind rejects the request: by then it has connected and knows which resources are counted."""
    match answer.content:
        case {"Error": str(error)} if error.startswith("the binding request has no valid "):
            return ""
        case {"Error": str(error)} if error:
            return error
    return _unexpected(answer)


def _unexpected(answer: Answer) -> str:
    return f"status {answer.status}, and not what the verb answers"


def _asking(arguments: object, defect: Callable[[Answer], str]) -> Probe:
    body = orjson.dumps(arguments).decode()
    return Probe({"source": PRE_TRAFFIC_SOURCE, "body": body, "isBase64Encoded": False}, defect)


_LOAD = Probe(WARM_UP_EVENT, _loads)
_CANDIDATES = {"Pod": POD, "Nodes": None, "NodeNames": [NAME]}

_PROBES: Mapping[str, tuple[Probe, ...]] = {
    "filter": (_LOAD, _asking(_CANDIDATES, _filters)),
    "filter_onlyone": (_LOAD, _asking(_CANDIDATES, _filters)),
    "prioritize": (_LOAD, _asking(_CANDIDATES, _scores)),
    "bind": (_asking({}, _refuses),),
    "preempt": (
        _LOAD,
        _asking({"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}}, _agrees),
    ),
}


class PreTrafficOutcome(StrEnum):
    """Endings of the hook, as CodeDeploy calls them."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class PreTrafficReport(TypedDict):
    """`defects`: a line for each verb that cannot decide."""

    status: str
    defects: list[str]


class _Body(Protocol):
    def read(self) -> bytes:
        """Return the whole payload."""


class LambdaClient(Protocol):
    """The one call of boto3's Lambda client that is needed."""

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> Mapping[str, object]:  # noqa: N803
        """Invoke a function. Raises ClientError and BotoCoreError."""


class CodeDeployClient(Protocol):
    """The one call of boto3's CodeDeploy client that is needed."""

    def put_lifecycle_event_hook_execution_status(
        self,
        *,
        deploymentId: str,  # noqa: N803  boto3's names
        lifecycleEventHookExecutionId: str,  # noqa: N803
        status: str,
    ) -> object:
        """Report the status of a hook. Raises ClientError and BotoCoreError."""


class PreTrafficHook:
    """Test the verbs' new versions and report to CodeDeploy. `versions`: the ARN of each new version, by verb."""

    def __init__(self, versions: Mapping[str, str], functions: LambdaClient, deployments: CodeDeployClient) -> None:
        self._versions = versions
        self._functions = functions
        self._deployments = deployments
        self._telemetry = Telemetry("pre_traffic")

    def handle(self, event: object) -> PreTrafficReport:
        """Test and report. Raises if the report fails: CodeDeploy then ends the deployment itself, after an hour."""
        with self._telemetry.traced():
            started = perf_counter()
            defects = list(self._defects())
            outcome = PreTrafficOutcome.FAILED if defects else PreTrafficOutcome.SUCCEEDED
            self._report(event, outcome)
            self._telemetry.ended(
                outcome,
                pod="",
                detail="; ".join(defects),
                milliseconds=(perf_counter() - started) * 1000,
                failed=bool(defects),
            )
            return {"status": outcome, "defects": defects}

    def _report(self, event: object, outcome: PreTrafficOutcome) -> None:
        match event:
            case {"DeploymentId": str(deployment), "LifecycleEventHookExecutionId": str(execution)}:
                self._deployments.put_lifecycle_event_hook_execution_status(
                    deploymentId=deployment, lifecycleEventHookExecutionId=execution, status=outcome.value
                )

    def _defects(self) -> Iterator[str]:
        for verb, version in self._versions.items():
            for probe in probes(verb):
                defect = self._defect(version, probe)
                if defect:
                    yield f"{verb}: {defect}"
                    break

    def _defect(self, version: str, probe: Probe) -> str:
        try:
            response = self._functions.invoke(
                FunctionName=version, InvocationType="RequestResponse", Payload=orjson.dumps(probe.event)
            )
        except (ClientError, BotoCoreError) as error:
            return f"it cannot be invoked: {error}"
        answer = _answer(response)
        return answer if isinstance(answer, str) else probe.defect(answer)


def _answer(response: Mapping[str, object]) -> Answer | str:
    """Return the answer, or why it is missing. The message of an error is left out: it may quote anything."""
    if "FunctionError" in response:
        return f"it ended by an error ({response['FunctionError']}); see its log"
    payload: _Body = response["Payload"]  # type: ignore[assignment]
    try:
        match orjson.loads(payload.read()):
            case {"statusCode": int(status), "body": str(body)}:
                return Answer(status, orjson.loads(body))
    except orjson.JSONDecodeError:
        pass
    return "its answer is none of the API's"
