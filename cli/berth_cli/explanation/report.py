"""The output of `berth explain`: text for users, a document for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.reason_code import REASON_CODES_VERSION
from berth_cli.explanation.counterfactuals.change import Change
from berth_cli.explanation.counterfactuals.search import SEARCH_SECONDS, Search, SearchEnd
from berth_cli.explanation.explanation import Explanation
from berth_cli.explanation.pod_state import Verdict
from berth_cli.explanation.rules import Reasons
from berth_cli.installation.doctor.checks.pending_pods import untried_remedy
from berth_cli.placement.report import eviction_document, eviction_text
from berth_cli.placement.scheduler.preemption import Ineligible
from berth_cli.terminal.output import duration, examples, table_lines

VERSION = 1
"""The version of the document. It is incremented when a key is removed or changes its meaning."""

KEEPS_PODS = (
    "No pods are ended that their controllers replace: the node cache omits selectors, affinity, tolerations and "
    "spread constraints of pods on nodes."
)


def text(found: Explanation, schedulers: Sequence[str], history: Iterable[str] = ()) -> Iterator[str]:
    """Yield the explanation, the verdict first. schedulers: the scheduler names with profiles in the configuration.
    history: lines about earlier attempts, which are printed before the changes."""
    yield headline(found)
    is_settled = found.verdict in (Verdict.PLACED, Verdict.FINISHED)
    if found.verdict is Verdict.UNTRIED:
        tried = (state.scheduler for _, state in found.target.waiting if state.was_tried)
        yield f"  {untried_remedy(found.pod.scheduler_name, sorted({*schedulers, *tried}))}"
    never = found.preemption is not None and found.preemption.ineligible is Ineligible.NEVER
    if evictions := f"preemption: {Ineligible.NEVER}" if never else eviction_text(found.preemption):
        yield from () if evictions == found.held else (f"  {evictions}",)
    said = found.target.state.scheduler_message
    if said and not is_settled and (found.fitting or found.node) and found.verdict is not Verdict.SCHEDULER_FAILS:
        yield f"  the scheduler says: {said}"
    yield from () if is_settled else (f"  {each}" for each in found.target.state.unchecked)
    if found.reasons:
        yield from ("", *reasons_text(found.reasons))
    if found.ranking:
        rows = [("NODE", "TOTAL", "SCORES")]
        for node, total, scores in found.ranking:
            rows.append((node, str(total), " + ".join(f"{name} {score}" for name, score in scores.items() if score)))
        yield from ("", *table_lines(rows, "  "))
    if lines := list(history):
        yield from ("", *lines)
    if found.search is not None:
        yield from ("", *changes_text(found.search))
    if found.target.warnings and not is_settled:
        yield from ("", *(f"warning: {each}" for each in found.target.warnings))


def reasons_text(reasons: Reasons) -> Iterator[str]:
    """Yield a table with one line per reason."""
    rows = [("NODES", "RULE", "REASON", "FOR EXAMPLE")]
    rows += [
        (str(len(nodes)), f"{each.by} {each.plugin}".strip(), each.text, examples(nodes))
        for each, nodes in reasons.items()
    ]
    yield from table_lines(rows, "  ")


def reasons_document(reasons: Reasons) -> list[dict[str, object]]:
    """Return the reasons as JSON objects."""
    return [
        {"code": each.code, "reason": each.text, "detail": each.detail, "plugin": each.plugin, "by": each.by}
        | {"count": len(nodes), "nodes": list(nodes)}
        for each, nodes in reasons.items()
    ]


def headline(found: Explanation) -> str:
    """Return the verdict in one line."""
    state, fits = found.target.state, f"{len(found.fitting)} of {found.nodes} nodes fit"
    fits = ": ".join(filter(None, (fits, "; ".join(found.missing))))
    if found.search is not None and found.search.more_nodes_help is False:
        fits += "; more nodes do not help"
    name, pending = f"{found.pod.namespace}/{found.pod.name}", "pending"
    if state.created_at is not None:
        pending += f" for {duration(found.now - state.created_at)}"
    deleted = f", {state.deletion}" if state.is_terminating else ""
    match found.verdict:
        case Verdict.PLACED:
            return f"{name}: on node {found.node}{deleted}; without it, {fits}"
        case Verdict.FINISHED:
            return f"{name}: has ended{deleted}; if it were new, {fits}"
        case Verdict.TERMINATING:
            return f"{name}: {found.held}; {fits}"
        case _ if found.taken:
            return f"{name}: {pending}: {fits}, but {found.taken}"
        case Verdict.PLACEABLE:
            by = "" if state.scheduler == DEFAULT_SCHEDULER else f" by {state.scheduler}, if that scheduler runs"
            can = "fits, apart from what is not checked" if state.unchecked else "can be placed"
            return f"{name}: {can}{by}, on {found.node}: {fits}"
        case Verdict.PREEMPTING:
            return f"{name}: {pending}: {fits}; preemption would place it on {found.node}"
        case _:
            return f"{name}: {pending}: {'; '.join(filter(None, (found.held, fits)))}"


def document(found: Explanation) -> dict[str, object]:
    """Build the document for programs."""
    return {
        "version": VERSION,
        "reasonCodesVersion": REASON_CODES_VERSION,
        "namespace": found.pod.namespace,
        "name": found.pod.name,
        "verdict": found.verdict,
        "headline": headline(found),
        "cause": None if found.cause is None else found.cause.text(),
        "gates": list(found.target.state.gates),
        "finalizers": list(found.target.state.finalizers),
        "schedulerSays": found.target.state.scheduler_message or None,
        "warnings": [*found.target.state.unchecked, *found.target.warnings],
        "node": found.node or None,
        "nodes": found.nodes,
        "fitting": list(found.fitting),
        "reasons": reasons_document(found.reasons),
        "missing": list(found.missing),
        "pools": list(map(asdict, found.pools)),
        "ranking": [{"node": each.node, "total": each.total, "scores": dict(each.scores)} for each in found.ranking],
        "preemption": eviction_document(found.preemption),
        **search_document(found.search),
    }


def search_document(search: Search | None) -> Mapping[str, object]:
    """Return the changes as a JSON object. searchEnd: null if the search was not run."""
    found = Search() if search is None else search
    return {
        "counterfactuals": [
            {"changes": list(map(_change_document, each.changes)), "fits": list(each.fits)} for each in found.found
        ],
        "searchEnd": None if search is None else search.end,
        "searchNote": "" if search is None else "\n".join(search_notes(search)),
        "moreNodesHelp": found.more_nodes_help,
    }


def _change_document(change: Change) -> Mapping[str, object]:
    return {"kind": change.kind, "text": change.text, "node": change.node or None, **change.details}


def changes_text(search: Search) -> Iterator[str]:
    """Yield the changes that were found, and why there may be others."""
    if search.found:
        yield "Each of these would place it; the rules were run on each:"
    for each in search.found:
        fits = "" if any(change.node for change in each.changes) else f" -> {examples(each.fits)}"
        yield f"  - {'; and '.join(change.text for change in each.changes)}{fits}"
    yield from search_notes(search)


def search_notes(search: Search) -> Iterator[str]:
    """Yield why no changes were found, or why there may be others."""
    if not search.found:
        yield "No small change was found that would place it."
    if search.end is SearchEnd.TIME:
        yield f"The search ended after {SEARCH_SECONDS:g} s; there may be other changes."
    if search.end is SearchEnd.RESULTS:
        yield f"The search ended after {len(search.found)} changes; there may be others."
    if search.left_out:
        yield f"No changes were tried on {search.left_out} of the {search.tried + search.left_out} rejected nodes."
    if search.taken:
        yield f"Other changes make room, but {search.taken}."
    if search.keeps_pods:
        yield KEEPS_PODS
