"""The watcher's upkeep: reservations, gangs, events on pods, wake-ups, and the Lease of the ledger."""
