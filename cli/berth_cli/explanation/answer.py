"""The output of the command: text for users, a document for programs, and the exit status."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from berth_cli.explanation import report
from berth_cli.explanation.attempts import Attempts
from berth_cli.explanation.counterfactuals.search import SEARCH_SECONDS
from berth_cli.explanation.explanation import explain_pod
from berth_cli.explanation.gang import explain_gang, gang_document, gang_text
from berth_cli.explanation.pod_state import IS_PENDING, Cause, pending_cause
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.sources.inputs import Inputs
from berth_cli.explanation.target import Target
from berth_cli.terminal.input_files import NoSuchNode


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of `berth explain`. status: the exit status."""

    lines: Sequence[str]
    document: Mapping[str, object]
    status: int


def answer_to(inputs: Inputs, *, weight: int = 1, node: str | None = None, gang: bool = False) -> Answer:
    """Explain the pod. weight: the extender's weight in kube-scheduler's configuration. node: restricts the output to
    this node. gang: explain the pod's gang instead of the pod. Raises InvalidInput and PluginFailed."""
    rules = Rules(inputs.configuration)
    if gang:
        return _of_gang(inputs, rules)
    return _of_pod(weight, inputs, rules) if node is None else _of_node(node, inputs.target, rules)


def _of_node(node: str, target: Target, rules: Rules) -> Answer:
    names = list(target.case.snapshot.nodes)
    if node not in names:
        raise NoSuchNode("the cluster", node, names)
    pod, snapshot = target.case.pod, target.case.snapshot
    rejection = rules.rejected(pod, names, snapshot).get(node)
    found = pod, node, rejection, list(rules.by_plugin(pod, node, snapshot))
    return Answer(list(report.node_text(*found)), report.node_document(*found), 0 if rejection is None else 1)


def _of_gang(inputs: Inputs, rules: Rules) -> Answer:
    end, pod, cause = time.monotonic() + SEARCH_SECONDS, inputs.target.case.pod, _cause(inputs, rules)
    failure = _failure(inputs, rules)
    found = explain_gang(inputs.target, inputs.configuration, failure, lambda: time.monotonic() >= end)
    lines, document = list(gang_text(found)), dict(gang_document(found))
    if cause is not None and cause != found.cause:
        # The records are of this member.
        document["asked"] = f"{pod.namespace}/{pod.name}: {cause.text()}"
        lines.insert(1, f"  {document['asked']}")
    return Answer(lines, document, int(found.verdict in IS_PENDING))


def _of_pod(weight: int, inputs: Inputs, rules: Rules) -> Answer:
    end, now, target = time.monotonic() + SEARCH_SECONDS, time.time(), inputs.target
    cause = _cause(inputs, rules)
    if isinstance(inputs.attempts, Attempts):
        target = replace(target, state=replace(target.state, was_tried=True))
    found = explain_pod(target, rules, weight=weight, now=now, is_over=lambda: time.monotonic() >= end, cause=cause)
    history = [*inputs.notes, *([""] if inputs.notes and inputs.attempts else [])]
    history += report.history_text(inputs.attempts, now)
    document = report.document(found) | report.history_document(inputs.attempts)
    if inputs.notes:
        document["notes"] = list(inputs.notes)
    lines = list(report.text(found, sorted(inputs.configuration.profiles), history))
    return Answer(lines, document, 1 if found.verdict in IS_PENDING else 0)


def _cause(inputs: Inputs, rules: Rules) -> Cause | None:
    return pending_cause(inputs.target.state, inputs.attempts, _failure(inputs, rules))


def _failure(inputs: Inputs, rules: Rules) -> str:
    return "" if inputs.passes_exempt and rules.berth.exempts(inputs.target.case.pod) else inputs.failure
