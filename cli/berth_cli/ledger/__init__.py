"""The contents of the ledger: gangs and reservations of counted resources."""
