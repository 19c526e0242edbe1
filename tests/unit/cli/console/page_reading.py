"""The page's documents read as the page reads them, so that states can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rows = dict[int, dict[str, Any]]


def nodes_of(table: dict[str, Any]) -> Rows:
    """By id."""
    strings, found = table["strings"], {}
    for row, number in enumerate(table["id"]):
        labels = _part(table["labels"], table["labelEnds"], row)
        amounts = _part(table["amounts"], table["amountEnds"], row)
        found[number] = {
            "name": table["name"][row],
            "flags": table["flags"][row],
            "labels": {strings[labels[at]]: strings[labels[at + 1]] for at in range(0, len(labels), 2)},
            "taints": [strings[at] for at in _part(table["taints"], table["taintEnds"], row)],
            "amounts": {strings[amounts[at]]: tuple(amounts[at + 1 : at + 3]) for at in range(0, len(amounts), 3)},
        }
    return found


def pods_of(table: dict[str, Any]) -> Rows:
    """By id."""
    strings = table["strings"]
    lists = [{strings[each[at]]: each[at + 1] for at in range(0, len(each), 2)} for each in table["requestLists"]]
    return {
        number: {
            "name": table["name"][row],
            "node": table["node"][row],
            "state": table["state"][row],
            "priority": table["priority"][row],
            "requests": lists[table["requests"][row]],
            **{key: strings[table[key][row]] for key in ("namespace", "controller", "scheduler", "gang")},
        }
        for row, number in enumerate(table["id"])
    }


def applied(rows: Rows, change: dict[str, Any], read: Callable[[dict[str, Any]], Rows]) -> Rows:
    """The rows after a change of them."""
    gone = set(change["gone"])
    return {number: row for number, row in rows.items() if number not in gone} | read(change["changed"])


def _part(values: list[int], ends: list[int], row: int) -> list[int]:
    return values[ends[row - 1] if row else 0 : ends[row]]
