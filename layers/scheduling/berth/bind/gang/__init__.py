"""Places gangs: the barrier, a member's call of bind, its shares of the ledger, and the wait for the gang's turn."""
