"""Units of the table of gangs for a gang that is placed without waiting for room, counted in the real bind.

The world of tests/simulation/gangs places it in virtual time. Items have DynamoDB's sizes, and a transaction costs
twice the units of its items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.gangs.dynamodb_item import domain_item, gang_item
from berth.gangs.item import Domain, GangItem, Intent
from berth.gangs.table import NotTransacted, Transaction
from berth.scheduling.gangs.gang import GangKey
from berth_cli.embedded_store.gang_table import InMemoryGangTable
from tests.capacity.item_size import item_size, read_units, write_units
from tests.simulation.gangs.binds import GangWorld, Member


class MeteredGangTable(InMemoryGangTable):
    """Sums units. Nodes' ledgers are counted with the counted resources, and not here."""

    reads = 0
    writes = 0

    def gangs(self) -> Sequence[GangItem]:
        found = super().gangs()
        self.reads += read_units(sum(map(_size, found)))
        return found

    def gang(self, key: GangKey) -> GangItem | None:
        found = super().gang(key)
        self.reads += 1 if found is None else read_units(_size(found))
        return found

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        self.writes += write_units(_size(item))
        return super().put(item, seen)

    def delete(self, seen: GangItem) -> bool:
        self.writes += write_units(_size(seen))
        return super().delete(seen)

    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        found = super().join(key, round_, intent)
        self.writes += 1 if found is None else write_units(_size(found))
        return found

    def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
        found = super().withdraw(key, round_, uid, attempt)
        self.writes += 1 if found is None else write_units(_size(found))
        return found

    def domain(self) -> Domain:
        found = super().domain()
        self.reads += read_units(_domain_size(found))
        return found

    def put_domain(self, domain: Domain, seen: Domain) -> bool:
        self.writes += write_units(_domain_size(domain))
        return super().put_domain(domain, seen)

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        sizes = [_size(transaction.after or transaction.seen)]
        if transaction.closes is not None:
            sizes.append(_domain_size(transaction.closes))
        self.writes += 2 * sum(map(write_units, sizes))
        return super().transact(transaction)


def _size(item: GangItem) -> int:
    attributes: Mapping[str, Any] = gang_item(item)
    return item_size(attributes)


def _domain_size(domain: Domain) -> int:
    attributes: Mapping[str, Any] = domain_item(domain)
    return item_size(attributes)


def gang_units(members: int) -> tuple[float, float]:
    """Read and write units of bind for each member of a gang of this size. Filter's queries are not among them."""
    world = GangWorld([Member(f"train-{each}", f"n{each}", minimum=members, requests={}) for each in range(members)])
    table = world.gangs = MeteredGangTable(world.ledger)
    world.run(30.0)
    assert len(world.bound()) == members
    return table.reads / members, table.writes / members
