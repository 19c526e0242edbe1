"""Placement of gangs by bind: the barrier, one call of a member, its share of the ledger, and its wait for a turn."""
