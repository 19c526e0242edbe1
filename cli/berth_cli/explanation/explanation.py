"""The explanation of one pod: the verdict, the reasons against all nodes, and changes that would place the pod."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from berth.scheduling.fields.resources import shown_amount
from berth.scheduling.fields.taints import TolerationIndex
from berth.scheduling.framework.plugin import Status
from berth.scheduling.framework.shipped_profiles import FLOATING_FILTER
from berth.scheduling.gangs.members import order_of_members
from berth.scheduling.managed_resources.pools import domain_of
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explanation.blockers import BLOCKED, Blockers, PoolShortage, short_pools, shown_domain
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals.search import Search, search
from berth_cli.explanation.pod_state import FAILS, Cause, Verdict, verdict_on
from berth_cli.explanation.rivals import beside_waiting, first_taker, taken_text
from berth_cli.explanation.rules import OTHER_NODES, Reasons, Rules, by_detail, by_reason, missing_labels, other_nodes
from berth_cli.explanation.target import Target
from berth_cli.placement.report import waiting_text
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome, RankedNode
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.placement.scheduler.preemption import Preemption
from berth_cli.terminal.input_files import did_you_mean
from berth_cli.terminal.output import MAX_EXAMPLES, examples

MAX_RANKED = 10
Failing = Mapping[str, Sequence[Status]]
"""Maps nodes to the statuses of all filters that reject them."""
GANG_CODES = (ReasonCode.GANG_WAITS_FOR_MEMBERS, ReasonCode.GANG_DOES_NOT_FIT)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation. node: the pod's node, or the node on which it would be placed. fitting: the nodes that pass all
    rules; ranking: the best of them. search: None if it was not run. cause: set for verdicts in FAILS. held: the reason
    that does not depend on the nodes; may be empty. missing: everything that the pod lacks if it does not fit on any
    node; pools: the floating pools in it. taken: the waiting pod that is tried first and takes the place; may be
    empty. now: seconds since the epoch."""

    pod: Pod
    target: Target
    verdict: Verdict
    node: str
    nodes: int
    fitting: Sequence[str]
    reasons: Reasons
    ranking: Sequence[RankedNode]
    preemption: Preemption | None
    search: Search | None = None
    cause: Cause | None = None
    held: str = ""
    pools: Sequence[PoolShortage] = ()
    missing: Sequence[str] = ()
    taken: str = ""
    now: float = 0.0


def explain_pod(
    target: Target, rules: Rules, *, weight: int, now: float, is_over: Callable[[], bool], cause: Cause | None = None
) -> Explanation:
    """Evaluate all nodes and search for changes. now: seconds since the epoch. is_over: returns whether the search must
    stop. cause: why the pod waits if it fits on a node; None if unknown."""
    pod = replace(target.case.pod, created_at=target.state.created_at)
    case = beside_waiting(target.case, pod, target.waiting, rules, is_over)
    names = list(case.snapshot.nodes)
    rejected = rules.rejected(case.pod, names, case.snapshot)
    fitting = [name for name in names if name not in rejected]

    def scheduled(snapshot: Snapshot) -> Outcome:
        loop = ControlLoop(rules.scheduler, snapshot, PolicyExtender(rules.berth), weight=weight, explain_placed=True)
        return loop.schedule(case.pod)

    outcome = scheduled(case.snapshot)
    if fitting and not outcome.node:
        cause = cause or Cause(Verdict.SCHEDULER_FAILS, "kube-scheduler fails", outcome.message)
    verdict, held = verdict_on(target.state, now, cause, fits=bool(fitting), preempts=bool(outcome.node))
    waits = "" if fitting else waiting_text(outcome.preemption)
    taken, node, held = "", target.state.node or outcome.node, held or waits
    if verdict is Verdict.PLACEABLE:
        taker, beside = first_taker(case, rules, is_over)
        taken = taken_text(taker, case.pod)
        verdict = Verdict.PENDING if taken else verdict
        node = node if beside is case else scheduled(beside.snapshot).node or node
    reasons = by_detail(by_reason(rejected, case.pod, case.snapshot), case.pod, case.snapshot)
    is_short = not (fitting or outcome.node or waits)
    pools = pools_against(case, rules, reasons) if is_short else ()
    may_change = verdict in (Verdict.PENDING, Verdict.PREEMPTING, Verdict.UNTRIED)
    wants_changes = may_change and (taken or not (fitting or waits))
    found = search(replace(case, asked=case.pod.uid), rules, is_over) if wants_changes else None
    missing = missing_for(case, rules, reasons, pools) if is_short else ()
    return Explanation(
        pod=case.pod,
        target=target,
        verdict=verdict,
        node=node,
        nodes=len(names),
        fitting=fitting,
        reasons=reasons,
        ranking=outcome.ranking[:MAX_RANKED] if fitting else (),
        preemption=None if fitting else outcome.preemption,
        search=found,
        cause=cause if verdict in FAILS else None,
        held=held,
        pools=pools,
        missing=missing,
        taken=taken,
        now=now,
    )


def missing_for(case: Case, rules: Rules, reasons: Reasons, pools: Sequence[PoolShortage]) -> Sequence[str]:
    """Return the reasons that keep the pod from all nodes, as clauses: first those that the end of other pods cannot
    remove. reasons: the reasons against all nodes. pools: the pools with too little left."""
    codes, selected = {each.code for each in reasons}, _selected(case)
    counted = [each.resource for each in rules.counted(case.pod)]
    found = [node.name for node in selected if all(rules.capacity(name, node) for name in counted)]
    others = other_nodes(case.pod, case.snapshot)
    failing = rules.failing(case.pod, [name for name in found if name not in others], case.snapshot)
    texts = [*missing_labels(case.pod, case.snapshot)]
    texts += [*_larger(case, rules, selected)] or [*_too_little(case, rules, reasons, pools, failing)]
    texts += _untolerated(case, failing)
    texts += [each.text for each in pools[:MAX_EXAMPLES]]
    if len(pools) > MAX_EXAMPLES:
        texts.append(f"{len(pools) - MAX_EXAMPLES} more pools have too little left")
    if not codes.isdisjoint(GANG_CODES) and (gang := rules.gang_status(case.pod, case.snapshot)):
        texts.append(f"gang {gang.key}: {gang.waits_for}")
    blockers = Blockers(case.pod, case.snapshot)
    for reason, names in reasons.items():
        if reason.code in BLOCKED:
            pods = blockers.of(reason.code, [case.snapshot.nodes[name] for name in names])
            shown = [f"{pod.namespace}/{pod.name} on {pod.node_name}" for pod in pods]
            texts.append(BLOCKED[reason.code].format(", ".join(blockers.ports_of(pods)), examples(shown)))
    if ReasonCode.POD_AFFINITY_MISMATCH in codes and not blockers.has_affine_pod:
        texts.append("no pod on a node matches its pod affinity")
    return texts or [*_common(case, failing, selected)]


def _selected(case: Case) -> Collection[NodeInfo]:
    """Return the nodes that the pod selects; all if it does not select nodes."""
    required, nodes = required_of(case.pod), case.snapshot.nodes.values()
    return [node for node in nodes if required is None or required.matches(node)] or nodes


def _common(case: Case, failing: Failing, selected: Collection[NodeInfo]) -> Iterator[str]:
    """Yield the reasons that keep the pod from every usable node, or two reasons that together do so."""
    codes = {name: {code for each in statuses for code in each.reason_codes} for name, statuses in failing.items()}
    usable = [name for name, own in codes.items() if OTHER_NODES.keys().isdisjoint(own)]
    by_text = defaultdict[tuple[ReasonCode, str], list[str]](list)
    for name in usable or failing:
        for status in failing[name]:
            for reason in zip(status.reason_codes, status.reasons, strict=True):
                by_text[reason].append(name)
    found, every = sorted(by_text.items(), key=lambda each: -len(each[1])), set(usable or failing)
    pairs = (pair for pair in combinations(found, 2) if every == {*pair[0][1], *pair[1][1]})
    shown = [each for each in found if len(each[1]) == len(every)] or list(next(pairs, ()))
    for (code, text), names in shown:
        if code is ReasonCode.UNTOLERATED_TAINT:
            yield _intolerance(case, names)
            continue
        lacks = text.replace("Insufficient", "too little").replace("Too many", "too many")
        is_only = len(names) == len(selected) < len(case.snapshot.nodes)
        only = f", the only {'node' if len(names) == 1 else 'nodes'} that it selects" if is_only else ""
        yield f"{lacks} on {examples(names)}{only}"


def _intolerance(case: Case, names: Iterable[str]) -> str:
    tolerations = TolerationIndex(case.pod.spec.tolerations)
    taints = (each for name in names for each in tolerations.untolerated(case.snapshot.nodes[name].taints))
    return f"it does not tolerate {examples(list(dict.fromkeys(map(str, taints))))}"


def _untolerated(case: Case, failing: Failing) -> Iterator[str]:
    """Name the taints if nothing else keeps the pod away, apart from counted resources, which are named, too."""
    codes = {code for statuses in failing.values() for each in statuses for code in each.reason_codes}
    if codes - {ReasonCode.INSUFFICIENT_COUNTED_RESOURCE} == {ReasonCode.UNTOLERATED_TAINT} and all(failing.values()):
        yield _intolerance(case, failing)


def _larger(case: Case, rules: Rules, selected: Collection[NodeInfo]) -> Iterator[str]:
    """Compare the requests with the total amounts of the nodes that the pod selects."""
    ignored, larger = rules.berth.counting.ignored_by_scheduler, []
    unreadable = {name for node in selected for name in rules.berth.counting.unreadable(node)}
    counted = {
        each.resource: each.amount
        for each in rules.counted(case.pod)
        if not each.percent and each.resource not in unreadable
    }
    asked = {name: amount for name, amount in case.pod.spec.requests.asked.items() if name not in ignored} | counted

    def amount(name: str, node: NodeInfo) -> int:
        return rules.capacity(name, node) if name in counted else node.allocatable.get(name, 0)

    known = {name for node in case.snapshot.nodes.values() for name in node.allocatable}
    for name, wanted in asked.items():
        most = max((amount(name, node) for node in selected), default=0)
        if (known or name in counted) and not any(amount(name, node) for node in case.snapshot.nodes.values()):
            yield f"no node has {name}{did_you_mean(name, known)}"
        elif not most:
            yield f"no node that it selects has {name}"
        elif 0 < most < wanted:
            larger.append(f"{name} {shown_amount(name, wanted)} of at most {shown_amount(name, most)}")
    if larger:
        which = " that it selects" if len(selected) < len(case.snapshot.nodes) else ""
        yield f"larger than the largest node{which} ({', '.join(larger)})"


def _too_little(
    case: Case, rules: Rules, reasons: Reasons, pools: Sequence[PoolShortage], failing: Failing
) -> Iterator[str]:
    """Name the counted resources that the candidates lack. If pools of label values are full: also other resources that
    nodes lack, with the label values of these nodes."""
    found = (domain_of(each.pool).partition("=")[0] for each in pools)
    keys = [key for key in found if key in rules.berth.counting.floating.label_keys]
    short = defaultdict[str, list[str]](list)
    for reason, names in reasons.items():
        if keys and reason.code is ReasonCode.INSUFFICIENT_RESOURCE:
            short[reason.text] += names
    for name, statuses in failing.items():
        for status in statuses:
            if ReasonCode.INSUFFICIENT_COUNTED_RESOURCE in status.reason_codes:
                for text in status.reasons:
                    short[text].append(name)
    if short:
        nodes = set().union(*short.values())
        values = sorted({case.snapshot.nodes[name].labels.get(keys[0], "") for name in nodes}) if keys else [""]
        place = f" in {shown_domain(f'{keys[0]}={examples(values)}')}" if all(values) else ""
        resources = " and ".join(text.removeprefix("Insufficient ") for text in short)
        yield f"too little {resources} on {len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}{place}"


def pools_against(case: Case, rules: Rules, reasons: Reasons) -> Sequence[PoolShortage]:
    """Return the pools that are the only reason against a node, or that a waiting gang lacks. If every node has another
    reason, return the pools of cluster and namespace with too little left: a new node would not help."""
    if any(each.code is ReasonCode.GANG_WAITS_FOR_POOL for each in reasons):
        gang = rules.berth.gang_of(case.pod, case.snapshot)
        whole = replace(case, in_gang=True, missing=gang.minimum if gang else 1)
        return short_pools(whole.rooted_at(min((whole.pod, *whole.mates), key=order_of_members).uid), rules, {})
    nodes = [name for reason, names in reasons.items() if reason.plugin == FLOATING_FILTER for name in names]
    keys = sorted(rules.berth.counting.floating.label_keys)
    domains = dict.fromkeys(tuple(map(case.snapshot.nodes[name].labels.get, keys)) for name in nodes)
    found: dict[str, PoolShortage] = {}
    for values in domains or [()]:
        labels = {key: value for key, value in zip(keys, values, strict=False) if value is not None}
        found |= {each.pool: each for each in short_pools(case, rules, labels)}
    return tuple(found.values())
