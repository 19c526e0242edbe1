"""One answer of the command: lines for people, a document for programs, and the exit status."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from berth_cli.explain import attempt_report, report
from berth_cli.explain.attempts import Attempts, NoRecord, RecordedVerdict
from berth_cli.explain.counterfactuals.search import SEARCH_SECONDS
from berth_cli.explain.explanation import IS_PENDING, Cause, Verdict, explain_node, explain_pod
from berth_cli.explain.gang import explain_gang, gang_document, gang_text, with_changes
from berth_cli.explain.pending_cause import pending_cause
from berth_cli.explain.rules import Rules
from berth_cli.explain.sources.inputs import Inputs
from berth_cli.explain.target import Target, parse_name
from berth_cli.input_files import InvalidInput, NoSuchNode


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about a pod. weight: of the extender in kube-scheduler's configuration. node: only this one.
    gang: the pod's gang instead of the pod."""

    pod: str
    weight: int = 1
    node: str | None = None
    gang: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """status: the exit status. is_final: whether the pod needs no node any more."""

    lines: Sequence[str]
    document: Mapping[str, object]
    status: int
    is_final: bool = False


def answer_to(question: Question, inputs: Inputs) -> Answer:
    """Raises InvalidInput and PluginFailed."""
    if inputs.target is None:
        if question.node is not None:
            return _recorded_on_node(question, inputs.verdict)
        return _from_records(question, inputs.attempts)
    rules = Rules(inputs.configuration)
    if question.gang:
        return _of_gang(inputs, inputs.target, rules)
    if question.node is not None:
        return _of_node(question.node, inputs.target, rules)
    return _of_pod(question, inputs, inputs.target, rules)


def _from_records(question: Question, found: Attempts | NoRecord | None) -> Answer:
    """Raises InvalidInput."""
    assert found is not None
    if isinstance(found, NoRecord):
        raise InvalidInput(found.reason)
    name = parse_name(question.pod)
    return Answer(
        list(attempt_report.records_text(*name, found, time.time())),
        attempt_report.records_document(*name, found),
        1 if found.is_pending else 0,
        is_final=found.bind is not None and not found.bind.error,
    )


def _recorded_on_node(question: Question, found: RecordedVerdict | NoRecord | None) -> Answer:
    """Raises InvalidInput."""
    assert found is not None
    if isinstance(found, NoRecord):
        raise InvalidInput(found.reason)
    name = parse_name(question.pod)
    return Answer(
        list(attempt_report.verdict_text(*name, found, time.time())),
        attempt_report.verdict_document(*name, found),
        0 if found.passes else 1,
    )


def _of_node(node: str, target: Target, rules: Rules) -> Answer:
    names = list(target.case.snapshot.nodes)
    if node not in names:
        raise NoSuchNode("the cluster", node, names)
    found = explain_node(target, rules, node)
    return Answer(list(report.node_text(found)), report.node_document(found), 0 if found.rejection is None else 1)


def _of_gang(inputs: Inputs, target: Target, rules: Rules) -> Answer:
    found, end = explain_gang(target, inputs.configuration), time.monotonic() + SEARCH_SECONDS
    cause = _cause(inputs, target, rules)
    if found.verdict is Verdict.PLACEABLE and cause is not None:
        found = replace(found, verdict=cause.verdict, cause=cause)
    found = with_changes(found, target, rules, lambda: time.monotonic() >= end)
    is_final = found.verdict is Verdict.PLACED
    return Answer(list(gang_text(found)), gang_document(found), int(found.verdict in IS_PENDING), is_final)


def _of_pod(question: Question, inputs: Inputs, target: Target, rules: Rules) -> Answer:
    end, now = time.monotonic() + SEARCH_SECONDS, time.time()
    cause = _cause(inputs, target, rules)
    if isinstance(inputs.attempts, Attempts):
        target = replace(target, state=replace(target.state, was_tried=True))
    found = explain_pod(
        target, rules, weight=question.weight, now=now, is_over=lambda: time.monotonic() >= end, cause=cause
    )
    history = [*inputs.notes, *([""] if inputs.notes and inputs.attempts else [])]
    history += attempt_report.history_text(inputs.attempts, now)
    document = report.document(found) | attempt_report.history_document(inputs.attempts)
    if inputs.notes:
        document["notes"] = list(inputs.notes)
    return Answer(
        list(report.text(found, sorted(inputs.configuration.profiles), now, history)),
        document,
        1 if found.verdict in IS_PENDING else 0,
        is_final=found.verdict in (Verdict.PLACED, Verdict.FINISHED),
    )


def _cause(inputs: Inputs, target: Target, rules: Rules) -> Cause | None:
    passes = inputs.passes_exempt and rules.berth.exempts(target.case.pod)
    return pending_cause(target, inputs.attempts, "" if passes else inputs.failure)
