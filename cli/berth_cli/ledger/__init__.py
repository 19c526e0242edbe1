"""Shows the content of the ledger: gangs, and reservations of counted resources."""
