"""Gangs that are being bound: all members or none, by one commit on the ledger. What bind does is in `bind`."""
