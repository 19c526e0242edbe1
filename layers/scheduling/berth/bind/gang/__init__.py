"""Placement of gangs by bind: the barrier, a member's bind call, its ledger shares, the wait for the gang's turn."""
