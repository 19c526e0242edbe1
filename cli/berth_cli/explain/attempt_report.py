"""The output about attempts: beside an explanation of the cluster, or alone, from the records of a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from berth.scheduling.reason_code import REASON_CODES_VERSION
from berth_cli.explain.attempts import (
    Attempt,
    Attempts,
    NoRecord,
    ReasonTrend,
    RecordedVerdict,
    RejectedCount,
    policy_changed,
    reason_changes,
)
from berth_cli.explain.explanation import Verdict
from berth_cli.explain.report import VERSION, duration, examples, table
from berth_cli.explain.rules import DecidedBy

MOST_SHOWN = 5
OLD_SECONDS = 600.0


def history_text(found: Attempts | NoRecord | None, now: float) -> Iterator[str]:
    """The last attempts, the newest first, and what changed since the one before. found: None if nobody was asked."""
    if found is None:
        return
    if isinstance(found, NoRecord):
        yield f"No attempts on record: {found.reason}"
        return
    shown = list(reversed(found.all))[:MOST_SHOWN]
    yield f"Attempts: {len(found.all)}; the newest first:"
    rows = [("AGO", "FIT", "NODES", "OUTCOME", "PROFILE")]
    rows += [
        (
            duration(now - each.at),
            _fitting(each),
            "-" if each.error else str(each.nodes),
            each.outcome,
            each.profile,
        )
        for each in shown
    ]
    yield from table(rows)
    if found.last.error:
        yield f"The last attempt failed: {found.last.error}"
    if found.bind is not None:
        result = f"failed: {found.bind.error}" if found.bind.error else "succeeded"
        yield f"Bind to {found.bind.node or 'a node'}, {duration(now - found.bind.at)} ago: {result}"
    if len(found.all) > 1:
        yield ""
        yield from _changes_text(found.all[-2], found.last)


def _fitting(attempt: Attempt) -> str:
    if attempt.feasible is not None:
        return str(attempt.feasible)
    return "-" if attempt.error else "all"


def _changes_text(before: Attempt, now: Attempt) -> Iterator[str]:
    lines = list(_failures(before, now) if before.error or now.error else _differences(before, now))
    if not lines:
        yield "Nothing changed since the attempt before."
        return
    yield "Since the attempt before:"
    for line in lines:
        yield f"  - {line}"


def _failures(before: Attempt, now: Attempt) -> Iterator[str]:
    """A call that failed knows neither nodes nor reasons."""
    if not before.error:
        yield "the call failed; the one before decided"
    elif not now.error:
        yield f"the call before failed: {before.error}"
    elif before.error != now.error:
        yield f"the call before failed for another reason: {before.error}"


def _differences(before: Attempt, now: Attempt) -> Iterator[str]:
    if policy_changed(before, now):
        yield "another policy decided: " + _policy(before) + " -> " + _policy(now)
    if before.nodes != now.nodes:
        yield f"the scheduler asked about {now.nodes} nodes instead of {before.nodes}"
    for each in reason_changes(before, now):
        match each.trend:
            case ReasonTrend.APPEARED:
                count = f"on {each.now} nodes"
            case ReasonTrend.DISAPPEARED:
                count = f"was on {each.before} nodes"
            case ReasonTrend.GREW | ReasonTrend.SHRANK:
                count = f"from {each.before} to {each.now} nodes"
        yield f"{each.trend}, {count}: {each.reason}"


def _policy(attempt: Attempt) -> str:
    return f"profile {attempt.profile}, configuration {attempt.configuration_hash[:12] or 'as deployed'}"


def records_text(namespace: str, name: str, found: Attempts, now: float) -> Iterator[str]:
    """An explanation from records alone. It begins with the verdict."""
    last = found.last
    ago = duration(now - last.at)
    nodes = f"{last.nodes} nodes that the scheduler asked about"
    least = "" if found.is_complete else "at least "
    pending = f"{namespace}/{name}: pending for {least}{duration(now - found.rejected_since)}"
    bind = found.bind
    if bind is not None and bind.error:
        yield f"{namespace}/{name}: pending: its bind to {bind.node} failed {duration(now - bind.at)} ago: {bind.error}"
    elif bind is not None:
        yield f"{namespace}/{name}: was bound to {bind.node} {duration(now - bind.at)} ago"
    elif last.error:
        yield f"{pending}: Berth cannot decide ({last.outcome}): {last.error}"
    elif last.is_rejected:
        yield f"{pending}: Berth rejects all {nodes}"
    elif last.feasible is None:
        yield f"{namespace}/{name}: no rule of Berth was applied {ago} ago ({last.outcome}): it passes all {nodes}"
    else:
        yield f"{namespace}/{name}: {ago} ago Berth passed {last.feasible} of {nodes}"
    if now - last.at > OLD_SECONDS:
        yield f"  the last attempt is {ago} old: the pod may be placed or gone; add --kubeconfig FILE to know"
    if last.reasons:
        yield ""
        rows = [("NODES", "RULE", "REASON", "FOR EXAMPLE")]
        rows += [
            (
                str(each.count),
                f"{DecidedBy.BERTH} {each.plugin}".strip(),
                each.reason,
                examples(each.examples, each.count),
            )
            for each in last.reasons
        ]
        yield from table(rows)
    yield ""
    yield from history_text(found, now)


def verdict_text(namespace: str, name: str, found: RecordedVerdict, now: float) -> Iterator[str]:
    """What the last call of filter decided on one node."""
    ago = f"{duration(now - found.at)} ago"
    pod = f"{namespace}/{name} on {found.node}"
    if found.error:
        yield f"{pod}: not decided: {ago} the call failed: {found.error}"
    elif not found.was_asked:
        yield f"{pod}: not asked: {ago} the scheduler asked about other nodes: its own rules reject this one"
    elif found.passes:
        yield f"{pod}: {ago} Berth passed it"
    else:
        reasons = ", ".join(f"{each.reason} ({each.plugin})" if each.plugin else each.reason for each in found.reasons)
        yield f"{pod}: {ago} rejected by {DecidedBy.BERTH}: {reasons}"
    yield "  only a cluster says what every plugin decides: add --kubeconfig FILE or --cluster DUMP"


def verdict_document(namespace: str, name: str, found: RecordedVerdict) -> dict[str, object]:
    """The same for programs, with the keys of an explanation of one node. fits: null where nothing was decided."""
    by_plugin: dict[str, list[RejectedCount]] = {}
    for each in found.reasons:
        by_plugin.setdefault(each.plugin, []).append(each)
    return {
        "version": VERSION,
        "reasonCodesVersion": REASON_CODES_VERSION,
        "namespace": namespace,
        "name": name,
        "node": found.node,
        "time": found.at,
        "fits": found.passes if found.was_asked and not found.error else None,
        "plugins": [
            {
                "plugin": plugin,
                "by": DecidedBy.BERTH,
                "status": None,
                "reasons": [each.reason for each in reasons],
                "reasonCodes": [each.code for each in reasons],
                "score": None,
            }
            for plugin, reasons in by_plugin.items()
        ],
        "error": found.error,
    }


def records_document(namespace: str, name: str, found: Attempts) -> dict[str, object]:
    """The same for programs."""
    last = found.last
    return {
        "version": VERSION,
        "reasonCodesVersion": REASON_CODES_VERSION,
        "namespace": namespace,
        "name": name,
        "verdict": _verdict(found),
        "node": None if found.bind is None or found.bind.error else found.bind.node,
        "nodes": last.nodes,
        "reasons": _reasons(last),
        **history_document(found),
    }


def _verdict(found: Attempts) -> Verdict:
    if found.is_pending:
        return Verdict.PENDING
    return Verdict.PLACEABLE if found.bind is None else Verdict.PLACED


def history_document(found: Attempts | NoRecord | None) -> dict[str, object]:
    """The keys that attempts add to a document. changes: null without an attempt before the last one."""
    if found is None:
        return {}
    if isinstance(found, NoRecord):
        return {"attempts": [], "bind": None, "changes": None}
    return {
        "attempts": [
            {
                "time": each.at,
                "verb": each.verb,
                "outcome": each.outcome,
                "profile": each.profile,
                "configurationHash": each.configuration_hash,
                "cacheAgeSeconds": each.cache_age,
                "nodes": each.nodes,
                "feasible": each.feasible,
                "reasons": _reasons(each),
                "error": each.error,
            }
            for each in found.all
        ],
        "bind": None if found.bind is None else asdict(found.bind),
        "changes": _changes(found.all[-2], found.last) if len(found.all) > 1 else None,
    }


def _changes(before: Attempt, now: Attempt) -> list[dict[str, object]]:
    return [
        {
            "trend": each.trend,
            "code": each.code,
            "reason": each.reason,
            "plugin": each.plugin,
            "before": each.before,
            "now": each.now,
        }
        for each in reason_changes(before, now)
    ]


def _reasons(attempt: Attempt) -> list[dict[str, object]]:
    return [
        {
            "code": each.code,
            "reason": each.reason,
            "plugin": each.plugin,
            "by": DecidedBy.BERTH,
            "count": each.count,
            "nodes": list(each.examples),
        }
        for each in attempt.reasons
    ]
