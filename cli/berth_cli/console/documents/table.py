"""Rows in columns: numbers in arrays, and each text once.

A table stands for itself. A whole state and a change of it have the same form, so the page reads both with the same
code. Its size grows with what the rows have, not with the number of different labels or resources times the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from berth_cli.console.documents.rows import NodeRow, PodRow

Columns = dict[str, object]


class _Strings:
    """Texts by their position."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def index(self, text: str) -> int:
        return self._index.setdefault(text, len(self._index))

    @property
    def all(self) -> list[str]:
        return list(self._index)


def node_table(rows: Iterable[tuple[int, NodeRow]]) -> Columns:
    """The columns of these nodes, by id.

    labels: of node i the pairs of positions in `strings` from labelEnds[i - 1] to labelEnds[i]; taints likewise.
    amounts: of node i, likewise, resource, allocatable and used, three numbers each.
    """
    strings = _Strings()
    ids, names, flags = [], [], []
    labels: list[int] = []
    label_ends: list[int] = []
    taints: list[int] = []
    taint_ends: list[int] = []
    amounts: list[int] = []
    amount_ends: list[int] = []
    for number, row in rows:
        ids.append(number)
        names.append(row.name)
        flags.append(int(row.flags))
        for key, value in row.labels.items():
            labels += (strings.index(key), strings.index(value))
        label_ends.append(len(labels))
        taints += [strings.index(taint) for taint in row.taints]
        taint_ends.append(len(taints))
        for resource, allocatable in row.allocatable.items():
            amounts += (strings.index(resource), allocatable, row.used.get(resource, 0))
        amount_ends.append(len(amounts))
    return {
        "strings": strings.all,
        "id": ids,
        "name": names,
        "flags": flags,
        "labels": labels,
        "labelEnds": label_ends,
        "taints": taints,
        "taintEnds": taint_ends,
        "amounts": amounts,
        "amountEnds": amount_ends,
    }


def pod_table(rows: Iterable[tuple[int, PodRow]]) -> Columns:
    """The columns of these pods, by id.

    namespace, controller, scheduler, gang: positions in `strings`. requests: the position in `requestLists`, which has
    resource and amount, two numbers each: thousands of pods share one.
    """
    strings, lists = _Strings(), _RequestLists()
    columns: dict[str, list[int]] = {
        name: []
        for name in ("id", "namespace", "node", "state", "priority", "controller", "scheduler", "gang", "requests")
    }
    names = []
    for number, row in rows:
        names.append(row.name)
        columns["id"].append(number)
        columns["namespace"].append(strings.index(row.namespace))
        columns["node"].append(row.node)
        columns["state"].append(int(row.state))
        columns["priority"].append(row.priority)
        columns["controller"].append(strings.index(row.controller))
        columns["scheduler"].append(strings.index(row.scheduler))
        columns["gang"].append(strings.index(row.gang))
        columns["requests"].append(lists.index(row.requests, strings))
    return {"strings": strings.all, "requestLists": lists.all, "name": names, **columns}


class _RequestLists:
    """Requests by their position. Pods of one controller share the mapping, so most are found by identity."""

    def __init__(self) -> None:
        self.all: list[list[int]] = []
        self._by_content: dict[tuple[int, ...], int] = {}
        self._by_identity: dict[int, tuple[Mapping[str, int], int]] = {}

    def index(self, requests: Mapping[str, int], strings: _Strings) -> int:
        known = self._by_identity.get(id(requests))
        if known is not None:
            return known[1]
        content = tuple(number for name in sorted(requests) for number in (strings.index(name), requests[name]))
        found = self._by_content.get(content)
        if found is None:
            found = self._by_content[content] = len(self.all)
            self.all.append(list(content))
        # The mapping is kept, so that no other one gets its identity.
        self._by_identity[id(requests)] = (requests, found)
        return found
