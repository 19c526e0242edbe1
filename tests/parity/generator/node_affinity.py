"""nodeSelector and node affinity."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.labels import HOSTNAME, RACK, ZONE
from tests.parity.generator.nodes import GENERATIONS

VALUES = {
    ZONE: ("z1", "z2", "z3"),
    RACK: ("r1", "r2", ""),
    "disk": ("ssd", "hdd", ""),
    "generation": GENERATIONS,
    "absent": ("x",),
}
BOUNDS = ("0", "5", "7", "10", "007", "9223372036854775807", "9223372036854775806")
UNPARSABLE_BOUNDS = ("-5", "1e3", "5.5", "x", "9223372036854775808", "")


def node_selector(draw: Draw) -> dict[str, str]:
    """Draw a spec.nodeSelector; rarely empty."""
    keys = draw.some_of([ZONE, "disk", RACK, HOSTNAME], draw.weighted({0: 1, 1: 20}), 1)
    return {key: draw.one_of(VALUES.get(key, ("n0", "n1"))) for key in keys}


def required(draw: Draw, node_names: list[str]) -> dict[str, Any]:
    """Draw a NodeSelector of one to three terms."""
    names_only = draw.chance(0.12)  # else a PreFilterResult is rare: every term must name nodes
    count = draw.weighted({1: 5, 2: 4, 3: 1})
    return {"nodeSelectorTerms": [_term(draw, node_names, names_only=names_only) for _ in range(count)]}


def preferred(draw: Draw, node_names: list[str]) -> list[dict[str, Any]]:
    return [
        {"weight": draw.one_of((1, 2, 10, 33, 50, 100)), "preference": _term(draw, node_names, unparsable=0.02)}
        for _ in range(draw.between(1, 4))
    ]


def _term(draw: Draw, node_names: list[str], *, names_only: bool = False, unparsable: float = 0.1) -> dict[str, Any]:
    if names_only:
        fields = [_name_in(draw, node_names) for _ in range(draw.weighted({1: 6, 2: 2}))]
        return {"matchFields": fields, **({"matchExpressions": [_expression(draw, 0)]} if draw.chance(0.2) else {})}
    if draw.chance(0.05):
        return {}  # matches nothing
    term: dict[str, Any] = {}
    if draw.chance(0.9):
        term["matchExpressions"] = [_expression(draw, unparsable) for _ in range(draw.weighted({1: 4, 2: 1}))]
    if not term or draw.chance(0.12):
        operator = draw.one_of(("In", "NotIn"))
        term["matchFields"] = [{**_name_in(draw, node_names), "operator": operator}]
    return term


def _name_in(draw: Draw, node_names: list[str]) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": "In", "values": [draw.one_of([*node_names, "gone"])]}


def _expression(draw: Draw, unparsable: float) -> dict[str, Any]:
    operator = draw.one_of(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        bounds = UNPARSABLE_BOUNDS if draw.chance(unparsable) else BOUNDS
        return {"key": "generation", "operator": operator, "values": [draw.one_of(bounds)]}
    key = draw.one_of(list(VALUES))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": draw.some_of(VALUES[key], 1, 2)}
