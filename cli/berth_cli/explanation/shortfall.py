"""What a pod lacks on all nodes, for the first line of its explanation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from berth.scheduling.fields.resources import shown_amount
from berth.scheduling.framework.shipped_profiles import FLOATING_FILTER
from berth.scheduling.gangs.members import order_of_members
from berth.scheduling.managed_resources.pools import domain_of
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explanation.blockers import Blockers, PoolShortage, short_pools, shown_domain
from berth_cli.explanation.case import Case
from berth_cli.explanation.reasons import Reasons
from berth_cli.explanation.rules import Rules
from berth_cli.terminal.output import MAX_EXAMPLES, examples

BLOCKED = {
    ReasonCode.HOST_PORT_TAKEN: "host port {} is taken by {}",
    ReasonCode.POD_ANTI_AFFINITY_CONFLICT: "anti-affinity with {1}",
    ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT: "anti-affinity of {1}",
}
GANG_CODES = (ReasonCode.GANG_WAITS_FOR_MEMBERS, ReasonCode.GANG_DOES_NOT_FIT)


def missing_for(case: Case, rules: Rules, reasons: Reasons, pools: Sequence[PoolShortage]) -> Sequence[str]:
    """Return what keeps the pod from all nodes, as clauses: first what no other pod's end provides. reasons: those of
    all nodes. pools: those with too little left."""
    texts = [*_larger(case, rules)] or [*_other_half(case, rules, reasons, pools)]
    texts += [each.text for each in pools[:MAX_EXAMPLES]]
    if len(pools) > MAX_EXAMPLES:
        texts.append(f"{len(pools) - MAX_EXAMPLES} more pools have too little left")
    if any(each.code in GANG_CODES for each in reasons) and (gang := rules.gang_status(case.pod, case.snapshot)):
        texts.append(f"in gang {gang.key} {gang.waits_for}")
    blockers = Blockers(case.pod, case.snapshot)
    for reason, names in reasons.items():
        if reason.code in BLOCKED:
            pods = blockers.of(reason.code, [case.snapshot.nodes[name] for name in names])
            shown = [f"{pod.namespace}/{pod.name} on {pod.node_name}" for pod in pods]
            texts.append(BLOCKED[reason.code].format(", ".join(blockers.ports_of(pods)), examples(shown)))
    return texts


def _larger(case: Case, rules: Rules) -> Iterator[str]:
    """Compare the requests with what the nodes that the pod selects have in total."""
    required, nodes, larger = required_of(case.pod), case.snapshot.nodes.values(), []
    selected = [node for node in nodes if required is None or required.matches(node)] or nodes
    for name, asked in case.pod.spec.requests.asked.items():
        most = max((node.allocatable.get(name, 0) for node in selected), default=0)
        if 0 < most < asked and name not in rules.berth.counting.ignored_by_scheduler:
            larger.append(f"{name} {shown_amount(name, asked)} of at most {shown_amount(name, most)}")
    if larger:
        yield f"larger than the largest node ({', '.join(larger)})"


def _other_half(case: Case, rules: Rules, reasons: Reasons, pools: Sequence[PoolShortage]) -> Iterator[str]:
    """Name what nodes lack outside of the full pools of a label's values."""
    found = (domain_of(each.pool).partition("=")[0] for each in pools)
    keys = [key for key in found if key in rules.berth.counting.floating.label_keys]
    short = {reason.text: names for reason, names in reasons.items() if reason.code is ReasonCode.INSUFFICIENT_RESOURCE}
    if keys and short:
        names = set().union(*short.values())
        values = sorted({case.snapshot.nodes[name].labels.get(keys[0], "") for name in names})
        place = f" in {shown_domain(f'{keys[0]}={examples(values)}')}" if all(values) else ""
        resources = " and ".join(text.removeprefix("Insufficient ") for text in short)
        yield f"too little {resources} on {len(names)} {'node' if len(names) == 1 else 'nodes'}{place}"


def pools_against(case: Case, rules: Rules, reasons: Reasons) -> Sequence[PoolShortage]:
    """Return the pools that reject nodes without another reason. If all nodes have another one, return the short pools
    of the cluster and of the namespace: a place on a node alone would not help."""
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
