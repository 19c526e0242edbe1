"""Reservations of floating pools beside reservations of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.ledger import new_ledger
from berth.scheduling.objects.pod import PodKey
from berth_cli.ledger.claims import Claims, NotRead
from berth_cli.ledger.reservations import cells, document, warnings

NOW = 1000.0
SLOT, SEAT = "example.com/slot", "example.com/seat@cluster"


def key(name: str) -> PodKey:
    return PodKey("ml", name, f"uid-{name}")


def ledger(owner: str, pool: str, capacity: int, **held: int) -> NodeLedger:
    entries = {
        f"uid-{name}": Entry(key(name), EntryState.BOUND, f"attempt-{name}", {pool: amount}, NOW)
        for name, amount in held.items()
    }
    return new_ledger(owner, {pool: capacity}, entries, 1)


def found(*ledgers: NodeLedger, opened: tuple[OpenReservation, ...] = ()) -> dict[str, Any]:
    return document(ledgers, opened, NOW, NotRead("not compared"))


def test_floating_pool_is_listed_as_a_pool_and_not_as_a_node() -> None:
    content = found(ledger("a", SLOT, 4, web=1), ledger(SEAT, SEAT, 12, web=2))
    assert [(each["node"], each["pool"], each["holds"]) for each in content["reservations"]] == [
        ("a", None, {SLOT: 1}),
        (None, SEAT, {SEAT: 2}),
    ]
    assert [each["node"] for each in content["nodes"]] == ["a"]
    assert content["pools"] == [{"pool": SEAT, "capacity": 12, "held": 2, "owed": 0}]
    rows = [cells(each, NOW) for each in content["reservations"]]
    assert [(row[0], row[-1]) for row in rows] == [("a", "the pod is on this node"), (SEAT, "the pod is on a node")]


def test_warns_about_pool_whose_reservations_exceed_its_capacity() -> None:
    content = found(ledger(SEAT, SEAT, 2, web=2, batch=1))
    assert content["pools"] == [{"pool": SEAT, "capacity": 2, "held": 3, "owed": 1}]
    assert list(warnings(content)) == [f"{SEAT}: reservations exceed the capacity by 1; no new reservations"]


@pytest.mark.parametrize(
    ("shares", "entries", "wanted"),
    [
        pytest.param({SLOT: 1, SEAT: 2}, {}, {"a": {SLOT: 1}, SEAT: {SEAT: 2}}, id="of a node and a pool"),
        pytest.param({SEAT: 2}, {}, {SEAT: {SEAT: 2}}, id="of a pool alone"),
        pytest.param({SEAT: 2}, {"web": 2}, {}, id="with its entry"),
    ],
)
def test_begun_bind_is_listed_as_announced_until_it_has_an_entry(
    shares: Mapping[str, int], entries: Mapping[str, int], wanted: object
) -> None:
    begun = OpenReservation(key("web"), "a", "attempt-web", shares, NOW)
    content = found(ledger(SEAT, SEAT, 12, **entries), opened=(begun,))
    announced = [each for each in content["reservations"] if each["state"] == "announced"]
    assert {each["node"] or each["pool"]: each["holds"] for each in announced} == wanted


def test_entries_of_a_removed_resource_are_not_shown_as_counted() -> None:
    removed = "example.com/connection@cluster"
    both = ledger("a", SLOT, 0, web=1)
    ledgers = (both, ledger(removed, removed, 0, web=2), ledger(SEAT, SEAT, 12, web=2))
    content = document(ledgers, (), NOW, Claims({}, ("example.com/seat",)))
    assert [each["pool"] for each in content["pools"]] == [SEAT]  # type: ignore[attr-defined]
    assert list(warnings(content)) == []
    why = {each["node"] or each["pool"]: each["why"] for each in content["reservations"]}  # type: ignore[attr-defined]
    assert why == {
        "a": "the pod is on this node; example.com/slot is not counted any more",
        removed: "the pod is on a node; example.com/connection is not counted any more",
        SEAT: "the pod is on a node",
    }


def test_reads_the_document_of_an_earlier_server_which_lacks_pools() -> None:
    assert list(warnings({"nodes": []})) == []
