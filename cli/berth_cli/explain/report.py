"""The output of `berth explain`: text for people, a document for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from berth.scheduling.framework.status import SUCCESS
from berth.scheduling.objects import Pod
from berth.scheduling.reason_code import REASON_CODES_VERSION, ReasonCode
from berth_cli.doctor.checks.pending_pods import untried_remedy
from berth_cli.explain.counterfactuals.candidates import Counterfactual, Search, SearchEnd
from berth_cli.explain.counterfactuals.new_nodes import NewNodeOutcome, NewNodes
from berth_cli.explain.counterfactuals.proposals import NO_CHANGE
from berth_cli.explain.counterfactuals.search import SEARCH_SECONDS
from berth_cli.explain.explanation import Cause, Explanation, NodeExplanation, ReasonGroup, Verdict
from berth_cli.simulate.report import eviction_document, eviction_text
from berth_cli.simulate.scheduler.control_loop import RankedNode

VERSION = 1
"""Of the document. It rises when a key is removed or gets another meaning."""

MOST_EXAMPLES = 3
MOST_SHOWN = 5


def text(found: Explanation, schedulers: Sequence[str], now: float, history: Iterable[str] = ()) -> Iterator[str]:
    """The verdict first. schedulers: the names that the configuration has profiles for. history: lines about earlier
    attempts, which come before the changes."""
    yield headline(found, now)
    if found.verdict is Verdict.UNTRIED:
        yield f"  {untried_remedy(found.pod.scheduler_name, schedulers)}"
    if found.preemption is not None and (evictions := eviction_text(found.preemption)):
        yield f"  {evictions}"
    yield from _remarks(found)
    if found.groups:
        yield ""
        yield from reasons_text(found.groups)
    if found.ranking:
        yield ""
        yield from table([("NODE", "TOTAL", "SCORES"), *(_ranked(each) for each in found.ranking)])
    lines = list(history)
    if lines:
        yield ""
        yield from lines
    if found.search is not None:
        yield ""
        yield from changes_text(found.search, (each.code for each in found.groups))
    if found.new_nodes is not None:
        yield ""
        yield from _new_nodes_text(found.new_nodes)


def _remarks(found: Explanation) -> Iterator[str]:
    """What the scheduler says, where the verdict does not say the same; and what was not judged."""
    target = found.target
    if found.verdict in (Verdict.PLACED, Verdict.FINISHED):
        return
    said = target.state.scheduler_message
    if said and (found.fitting or found.node) and found.verdict is not Verdict.SCHEDULER_FAILS:
        yield f"  the scheduler says: {said}"
    for each in (*target.unchecked, *target.warnings):
        yield f"  {each}"


def reasons_text(groups: Iterable[ReasonGroup]) -> Iterator[str]:
    """A table with a line for each reason."""
    rows = [("NODES", "RULE", "REASON", "FOR EXAMPLE")]
    rows += [
        (str(len(each.nodes)), f"{each.by} {each.plugin}".strip(), each.reason, examples(each.nodes)) for each in groups
    ]
    yield from table(rows)


def reason_document(group: ReasonGroup) -> dict[str, object]:
    """A reason for programs."""
    return {
        "code": group.code,
        "reason": group.reason,
        "plugin": group.plugin,
        "by": group.by,
        "count": len(group.nodes),
        "nodes": list(group.nodes),
    }


def headline(found: Explanation, now: float) -> str:
    """The verdict in one line."""
    name, fits = f"{found.pod.namespace}/{found.pod.name}", f"{len(found.fitting)} of {found.nodes} nodes fit"
    created = found.target.state.created_at
    pending = "pending" if created is None else f"pending for {duration(now - created)}"
    match found.verdict:
        case Verdict.PLACED:
            return f"{name}: on node {found.node}; without it, {fits}"
        case Verdict.FINISHED:
            return f"{name}: has ended; if it were new, {fits}"
        case Verdict.GATED:
            return f"{name}: {pending}: its scheduling gates hold it ({', '.join(found.target.state.gates)}); {fits}"
        case Verdict.UNTRIED:
            return f"{name}: {pending}: no scheduler named {found.pod.scheduler_name} has tried it; {fits}"
        case Verdict.BERTH_FAILS | Verdict.BIND_FAILS | Verdict.SCHEDULER_FAILS:
            assert found.cause is not None
            return f"{name}: {pending}: {cause_text(found.cause, now)}; {fits}"
        case Verdict.PLACEABLE:
            return f"{name}: can be placed, on {found.node}: {fits}"
        case Verdict.PREEMPTING:
            return f"{name}: {pending}: {fits}; preemption would place it on {found.node}"
        case Verdict.PENDING:
            return f"{name}: {pending}: {fits}"


def cause_text(cause: Cause, now: float | None = None) -> str:
    """now: seconds since the epoch; None leaves out when it was."""
    ago = "" if cause.at is None or now is None else f" {duration(now - cause.at)} ago"
    return f"{cause.event}{ago}" + (f": {cause.error}" if cause.error else "")


def duration(seconds: float) -> str:
    """In the largest unit of which there is at least one."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def document(found: Explanation) -> dict[str, object]:
    """For programs."""
    return {
        **_header(found.pod),
        "verdict": found.verdict,
        "cause": None if found.cause is None else cause_text(found.cause),
        "schedulerSays": found.target.state.scheduler_message or None,
        "warnings": [*found.target.unchecked, *found.target.warnings],
        "node": found.node or None,
        "nodes": found.nodes,
        "fitting": list(found.fitting),
        "reasons": [reason_document(each) for each in found.groups],
        "ranking": [{"node": each.node, "total": each.total, "scores": dict(each.scores)} for each in found.ranking],
        "preemption": eviction_document(found.preemption),
        **search_document(found.search),
        "newNodes": _new_nodes_document(found.new_nodes),
    }


def node_text(found: NodeExplanation) -> Iterator[str]:
    """One line for each plugin."""
    rejection = found.rejection
    verdict = "fits" if rejection is None else f"rejected by {rejection.by}: {rejection.status.message}"
    yield f"{found.pod.namespace}/{found.pod.name} on {found.node}: {verdict}"
    yield ""
    rows = [("RULE", "VERDICT", "SCORE", "REASON")]
    for each in found.verdicts:
        status = each.status
        outcome = "-" if status is None else "passes" if status is SUCCESS else "rejects"
        reason = "" if status is None else status.message
        rows.append((f"{each.by} {each.plugin}", outcome, "-" if each.score is None else str(each.score), reason))
    yield from table(rows)


def node_document(found: NodeExplanation) -> dict[str, object]:
    """For programs."""
    return {
        **_header(found.pod),
        "node": found.node,
        "fits": found.rejection is None,
        "plugins": [
            {
                "plugin": each.plugin,
                "by": each.by,
                "status": None if each.status is None else each.status.code.value,
                "reasons": [] if each.status is None else list(each.status.reasons),
                "reasonCodes": [] if each.status is None else list(each.status.reason_codes),
                "score": each.score,
            }
            for each in found.verdicts
        ],
    }


def _header(pod: Pod) -> Mapping[str, object]:
    return {
        "version": VERSION,
        "reasonCodesVersion": REASON_CODES_VERSION,
        "namespace": pod.namespace,
        "name": pod.name,
    }


def search_document(search: Search | None) -> Mapping[str, object]:
    """Changes for programs. searchEnd: null where none were looked for."""
    found = () if search is None else search.found
    return {
        "counterfactuals": [
            {
                "changes": [
                    {"kind": change.kind, "text": change.text, "node": change.node or None, **change.details}
                    for change in each.changes
                ],
                "fits": list(each.fits),
            }
            for each in found
        ],
        "searchEnd": None if search is None else search.end,
    }


def changes_text(search: Search, codes: Iterable[ReasonCode]) -> Iterator[str]:
    """The changes that were found, and why there may be others. codes: of the reasons."""
    if search.found:
        yield "Each of these would place it; the rules were run on each:"
        yield from _found_text(search.found)
    if note := search_note(search, SEARCH_SECONDS):
        yield note
    for code in () if search.found else dict.fromkeys(codes):
        if code in NO_CHANGE:
            yield f"  - {code}: {NO_CHANGE[code]}"


def search_note(search: Search, seconds: float) -> str:
    """Why there are no changes, or may be others; empty where there is nothing to say. seconds: how long they were
    looked for at most."""
    if search.found:
        is_cut = search.end is SearchEnd.TIME
        return f"The search ended after {seconds:g} s; there may be other changes." if is_cut else ""
    match search.end:
        case SearchEnd.TIME:
            return f"The search for changes ended after {seconds:g} s, and had found none by then."
        case SearchEnd.NODES:
            return f"No small change was found that would place it, on the {search.tried} nodes that were tried."
        case SearchEnd.COMPLETE | SearchEnd.RESULTS:
            return "No small change was found that would place it."


def _found_text(found: Iterable[Counterfactual]) -> Iterator[str]:
    for each in found:
        changes = "; and ".join(change.text for change in each.changes)
        changed = {change.node for change in each.changes if change.node}
        fits = "" if changed else f" -> {examples(each.fits)}"
        yield f"  - {changes}{fits}"


def examples(nodes: Sequence[str], count: int | None = None) -> str:
    """The first nodes by name. count: of how many; by default of these."""
    shown = ", ".join(nodes[:MOST_EXAMPLES])
    more = (len(nodes) if count is None else count) - len(nodes[:MOST_EXAMPLES])
    if not shown:
        return ""
    return f"{shown} and {more} more" if more > 0 else shown


def _new_nodes_text(found: NewNodes) -> Iterator[str]:
    """What Cluster Autoscaler and Karpenter do for the pod, and what comes of it."""
    yield "New nodes (an autoscaler asks no extender):"
    fits = found.fits_for_scheduler
    if fits:
        yield (
            f"  - none comes: by kube-scheduler's own rules the pod fits on {len(fits)} "
            f"{'node that is' if len(fits) == 1 else 'nodes that are'} there ({examples(fits)})"
        )
    elif not found.is_any_use:
        yield "  - none of the kinds that are known would take the pod, of any size"
    for each in found.kinds:
        match each.outcome:
            case NewNodeOutcome.TAKES if each.count > 1:
                yield f"  - {each.count} like {each.like} would take the gang"
                continue
            case NewNodeOutcome.TAKES:
                text = "would take the pod"
            case NewNodeOutcome.TOO_SMALL:
                text = f"is too small ({each.reason}); a larger one would take the pod"
            case NewNodeOutcome.REJECTED_BY_BERTH:
                text = f"would come in vain: Berth rejects it: {each.reason}"
            case NewNodeOutcome.REJECTED_BY_SCHEDULER:
                text = f"does not help: kube-scheduler rejects it: {each.reason}"
        yield f"  - one like {each.like} {text}"


def _new_nodes_document(found: NewNodes | None) -> object:
    if found is None:
        return None
    return {
        "fitsForScheduler": list(found.fits_for_scheduler),
        "kinds": [
            {"like": each.like, "outcome": each.outcome, "reason": each.reason or None, "count": each.count}
            for each in found.kinds
        ],
    }


def _ranked(node: RankedNode) -> tuple[str, ...]:
    parts = [f"{plugin} {score}" for plugin, score in node.scores.items() if score]
    return node.node, str(node.total), " + ".join(parts)


def table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of columns."""
    found = list(rows)
    widths = [max(map(len, column)) for column in zip(*found, strict=True)]
    for row in found:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
