"""The output of the command: text for users, a document for programs, and the exit status."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from berth_cli.explanation import report
from berth_cli.explanation.counterfactuals.search import SEARCH_SECONDS
from berth_cli.explanation.explanation import explain_pod
from berth_cli.explanation.gang import explain_gang, gang_document, gang_text
from berth_cli.explanation.inputs import Inputs
from berth_cli.explanation.pod_state import IS_PENDING, Cause, pending_cause
from berth_cli.explanation.rules import Rules
from berth_cli.sources.attempts import Attempts


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of `berth explain`. status: the exit status."""

    lines: Sequence[str]
    document: Mapping[str, object]
    status: int


def answer_to(inputs: Inputs, *, weight: int = 1, gang: bool = False) -> Answer:
    """Explain the pod. weight: the extender's weight in kube-scheduler's configuration. gang: whether to explain the
    pod's gang instead of the pod. Raises InvalidInput and PluginFailed."""
    rules = Rules(inputs.configuration)
    # The verbs of a stack let an exempt pod pass.
    passes = inputs.passes_exempt and rules.berth.exempts(inputs.target.case.pod)
    failure = "" if passes else inputs.failure
    cause = pending_cause(inputs.target.state, inputs.attempts, failure)
    return _of_gang(inputs, cause, failure) if gang else _of_pod(weight, inputs, rules, cause)


def _of_gang(inputs: Inputs, cause: Cause | None, failure: str) -> Answer:
    end, pod = time.monotonic() + SEARCH_SECONDS, inputs.target.case.pod
    found = explain_gang(inputs.target, inputs.configuration, failure, lambda: time.monotonic() >= end)
    lines, document = list(gang_text(found)), dict(gang_document(found))
    if cause is not None and cause != found.cause:
        # The records belong to this member.
        document["asked"] = f"{pod.namespace}/{pod.name}: {cause.text()}"
        lines.insert(1, f"  {document['asked']}")
    return Answer(lines, document, int(found.verdict in IS_PENDING))


def _of_pod(weight: int, inputs: Inputs, rules: Rules, cause: Cause | None) -> Answer:
    end, now, target = time.monotonic() + SEARCH_SECONDS, time.time(), inputs.target
    if isinstance(inputs.attempts, Attempts):
        target = replace(target, state=replace(target.state, was_tried=True))
    found = explain_pod(target, rules, weight=weight, now=now, is_over=lambda: time.monotonic() >= end, cause=cause)
    history = [*inputs.notes, *([""] if inputs.notes and inputs.attempts else [])]
    document = report.document(found)
    if inputs.attempts:
        history += inputs.attempts.lines(now)
        document |= inputs.attempts.document
    if inputs.notes:
        document["notes"] = list(inputs.notes)
    lines = list(report.text(found, sorted(inputs.configuration.profiles), history))
    return Answer(lines, document, int(found.verdict in IS_PENDING))
