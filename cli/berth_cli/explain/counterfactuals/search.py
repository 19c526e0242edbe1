"""The search: proposals for the closest nodes, the smallest first, each verified until the time is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals.candidates import (
    MOST_RESULTS,
    Candidates,
    Findings,
    IsOver,
    Search,
    SearchEnd,
    closest,
    without_needless,
)
from berth_cli.explain.counterfactuals.change import Option, applied
from berth_cli.explain.counterfactuals.gang_search import search_for_gang
from berth_cli.explain.rules import Rules

SEARCH_SECONDS = 5.0
"""How long changes are looked for: on a large cluster the search ends before it has tried all."""


def search(case: Case, rules: Rules, is_over: IsOver) -> Search:
    """The smallest changes that place the pod. is_over: asked before each step."""
    if rules.is_member(case.pod, case.snapshot):
        return search_for_gang(replace(case, in_gang=True), rules, is_over)
    failing = rules.failing(case.pod, case.snapshot)
    nodes, is_cut = closest(case, failing)
    candidates = Candidates(case, rules, failing, nodes, is_over)
    findings, end = Findings(), SearchEnd.NODES if is_cut else SearchEnd.COMPLETE
    for changes in (each.changes for each in sorted(candidates, key=lambda each: each.order)):
        if len(findings) == MOST_RESULTS or is_over():
            break
        if not findings.has_smaller(changes) and (fits := _verified(case, changes, rules)):
            findings.add(*without_needless(case, changes, fits, rules))
    if is_over():
        end = SearchEnd.TIME
    elif len(findings) == MOST_RESULTS:
        end = SearchEnd.RESULTS
    elif candidates.is_cut:
        end = SearchEnd.NODES
    return Search(findings.all, end, len(nodes))


def _verified(case: Case, changes: Option, rules: Rules) -> Sequence[str]:
    """The nodes that pass every rule after the changes: of a changed node's case this node."""
    changed = applied(changes, case)
    if changed is None:
        return ()
    targets = {each.takes or each.node for each in changes if each.node}
    return rules.fitting(changed.pod, sorted(targets or changed.snapshot.nodes), changed.snapshot)
