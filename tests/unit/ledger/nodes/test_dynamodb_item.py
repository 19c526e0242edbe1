"""Reading the ledger's items: unreadable attributes, and the epoch of a ledger that is being rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from berth.ledger.nodes.dynamodb_item import (
    SCHEMA_VERSION,
    marker_item,
    node_item,
    number,
    open_attributes,
    open_key,
    read_marker,
    read_node,
    read_open,
)
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.table import Marker, MarkerState
from berth.scheduling.objects.pod import PodKey

POD = PodKey("ml", "train-0", "uid-0")
ENTRY = Entry(POD, EntryState.RESERVED, "attempt-1", {"example.com/licence": 2}, 1_800_000_000.5)
LEDGER = NodeLedger("n1", {"example.com/licence": 4}, {"example.com/licence": 2}, {}, {"uid-0": ENTRY}, epoch=3)
OPEN = OpenReservation(POD, "n1", "attempt-1", ENTRY.shares, ENTRY.since)
MARKER = Marker(MarkerState.READY, 3, 1_800_000_000.5, "nonce-1")

NODE_ITEM: Mapping[str, Any] = node_item(LEDGER)
OPEN_ITEM: Mapping[str, Any] = {**open_key("uid-0", "n1", "attempt-1"), **open_attributes(OPEN)}
MARKER_ITEM: Mapping[str, Any] = marker_item(MARKER)


def without(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return {key: value for key, value in item.items() if key != name}


@pytest.mark.parametrize(
    ("read", "item"),
    [
        pytest.param(read_node, without(NODE_ITEM, "capacity"), id="a node's ledger without an attribute"),
        pytest.param(read_node, {**NODE_ITEM, "owed": {"M": {"p": {"N": "x"}}}}, id="an amount that is not a number"),
        pytest.param(read_node, {**NODE_ITEM, "epoch": {"S": "3"}}, id="an epoch of another type"),
        pytest.param(
            read_node, {**NODE_ITEM, "oldestReader": number(SCHEMA_VERSION + 1)}, id="an item of a later release"
        ),
        pytest.param(read_open, without(OPEN_ITEM, "shares"), id="an open reservation without an attribute"),
        pytest.param(read_open, {**OPEN_ITEM, "since": {"N": "soon"}}, id="an invalid time"),
        pytest.param(read_marker, without(MARKER_ITEM, "nonce"), id="a marker without an attribute"),
        pytest.param(read_marker, {**MARKER_ITEM, "state": {"S": "sold"}}, id="an invalid state"),
    ],
)
def test_raises_key_or_value_error_if_an_attribute_is_unreadable(
    read: Callable[[Any], object], item: Mapping[str, Any]
) -> None:
    with pytest.raises((KeyError, ValueError)):
        read(item)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"capacity": {"M": {"p": {"N": "x"}}}}, id="an amount that is not a number"),
        pytest.param({"oldestReader": number(SCHEMA_VERSION + 1)}, id="an item of a later release"),
    ],
)
def test_reads_only_the_epoch_of_a_ledger_that_is_being_rebuilt(change: Mapping[str, Any]) -> None:
    item = {**without(NODE_ITEM, "avail"), **change}
    assert read_node(item) == NodeLedger("n1", avail=None, epoch=3)
