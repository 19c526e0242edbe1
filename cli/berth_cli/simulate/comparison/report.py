"""A comparison of two runs as a table, or as an object for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from berth.scheduling.reason_code import REASON_CODES_VERSION
from berth_cli.simulate.comparison.comparison import Comparison, Effect, PodComparison
from berth_cli.simulate.comparison.load import ClusterLoad, NodeLoad, cluster_load, moved_loads, resources_shown
from berth_cli.simulate.comparison.run import Place, PlaceKind, Rule, Run
from berth_cli.simulate.report import align

POD_HEADER = ("NAMESPACE", "POD", "PRIORITY", "BEFORE", "AFTER", "MESSAGE")
NODES_SHOWN = 10
_NO_FIGURE = "-"


def pod_rows(pods: Iterable[PodComparison]) -> Iterator[str]:
    """One line for each pod, under a header; nothing without pods."""
    rows = [(*each.pod, str(each.priority), str(each.before), str(each.after), message_of(each)) for each in pods]
    if rows:
        yield from aligned([POD_HEADER, *rows])


def message_of(pod: PodComparison) -> str:
    """Why the pod is not where it was: what rejects all nodes, or else that node. Without a cause, its event."""
    if pod.cause is None or pod.after.kind is PlaceKind.EVICTED:
        return pod.after.message
    if pod.after.kind is PlaceKind.PENDING:
        return ", ".join(map(str, pod.after.rules)) or pod.after.message
    return str(pod.cause)


def figure_rows(comparison: Comparison) -> Iterator[str]:
    """The cluster's figures before and after."""
    rows = [("", "BEFORE", "AFTER"), *figures(comparison)]
    yield from aligned(rows)


def figures(comparison: Comparison) -> list[tuple[str, ...]]:
    """Name, and value before and after."""
    runs = comparison.before, comparison.after
    loads = [cluster_load(run.nodes.values()) for run in runs]
    return [
        ("schedulable nodes", *(str(load.nodes) for load in loads)),
        ("of these unused", *(str(load.unused) for load in loads)),
        ("pods on nodes", *(str(len(run.on_nodes)) for run in runs)),
        ("pods pending", *(str(run.count(PlaceKind.PENDING)) for run in runs)),
        ("pods evicted", *(str(run.count(PlaceKind.EVICTED)) for run in runs)),
        *((f"{each} requested", *(_per_cent(load.share(each)) for load in loads)) for each in resources_shown(*loads)),
    ]


def load_rows(loads: Sequence[NodeLoad]) -> Iterator[str]:
    """The nodes whose load moves most: what is requested of them, before and after."""
    yield from aligned(load_cells(loads))
    if len(loads) > NODES_SHOWN:
        yield f"and {len(loads) - NODES_SHOWN} more nodes; -o json lists all"


def load_cells(loads: Sequence[NodeLoad]) -> list[tuple[str, ...]]:
    """The cells of these rows, under a header."""
    resources = sorted({name for each in loads for name in {**(each.before or {}), **(each.after or {})}})
    header = ("NODE", *(each.upper() for each in resources))
    return [header, *((load.node, *(_move(load, each) for each in resources)) for load in loads[:NODES_SHOWN])]


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield align(row, widths)


def comparison_document(comparison: Comparison, pods: Iterable[PodComparison]) -> dict[str, object]:
    """The comparison as a JSON object, with these of its pods."""
    return {
        "reasonCodesVersion": REASON_CODES_VERSION,
        "pods": [_pod(each) for each in pods],
        "nodes": [
            {"node": each.node, "before": _shares(each.before), "after": _shares(each.after)}
            for each in moved_loads(comparison.before.nodes, comparison.after.nodes)
        ],
        "summary": {
            "before": _run(comparison.before),
            "after": _run(comparison.after),
            "effects": {str(effect): comparison.count(effect) for effect in Effect},
        },
    }


def _pod(each: PodComparison) -> dict[str, object]:
    namespace, name = each.pod
    found: dict[str, object] = {
        "namespace": namespace,
        "name": name,
        "priority": each.priority,
        "effect": str(each.effect),
        "before": _place(each.before),
        "after": _place(each.after),
    }
    if each.cause is not None:
        found["cause"] = {
            "node": each.cause.node,
            "plugin": each.cause.plugin or None,
            "code": each.cause.code,
            "reason": each.cause.reason,
        }
    return found


def _place(place: Place) -> dict[str, object]:
    found: dict[str, object] = {"state": str(place.kind), "node": place.node or None}
    if place.message:
        found["message"] = place.message
    if place.rules:
        found["rules"] = rules_document(place.rules)
    return found


def rules_document(rules: Iterable[Rule]) -> list[dict[str, object]]:
    """What rejects nodes, for JSON."""
    return [{"plugin": each.plugin, "code": each.code, "reason": each.reason, "nodes": each.nodes} for each in rules]


def _run(run: Run) -> dict[str, object]:
    load = cluster_load(run.nodes.values())
    return {
        "schedulableNodes": load.nodes,
        "unusedNodes": load.unused,
        "podsOnNodes": len(run.on_nodes),
        "podsPending": run.count(PlaceKind.PENDING),
        "podsEvicted": run.count(PlaceKind.EVICTED),
        "requestedPercent": _requested(load),
    }


def _requested(load: ClusterLoad) -> dict[str, int]:
    shares = ((name, load.share(name)) for name in resources_shown(load))
    return {name: share for name, share in shares if share is not None}


def _shares(shares: Mapping[str, int] | None) -> dict[str, int] | None:
    return None if shares is None else dict(shares)


def _per_cent(share: int | None) -> str:
    return _NO_FIGURE if share is None else f"{share} %"


def _move(load: NodeLoad, resource: str) -> str:
    before, after = (
        _NO_FIGURE if shares is None else f"{shares.get(resource, 0)} %" for shares in (load.before, load.after)
    )
    return before if before == after else f"{before} -> {after}"
