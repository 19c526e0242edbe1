"""How bind reserves counted resources in the ledger."""
