"""What stands in the ledger: gangs and reservations of counted resources."""
