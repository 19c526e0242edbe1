"""A new ledger."""

from __future__ import annotations

from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.scheduling.objects.pod import PodKey

POD = PodKey("ml", "p", "uid-p")


def test_new_ledger_owes_amounts_of_pools_without_capacity() -> None:
    entry = Entry(POD, EntryState.BOUND, "", {"gone": 2, "slot": 3}, 0.0)
    found = new_ledger("n1", {"slot": 4, "none": 0}, {POD.uid: entry}, 7)
    assert (found.capacity, found.avail, found.owed) == ({"slot": 4}, {"slot": 1}, {"gone": 2})
