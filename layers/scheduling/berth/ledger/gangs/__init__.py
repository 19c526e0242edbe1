"""Gangs that are being bound: all members or none, by one commit on the ledger. The calls of bind are in `bind`."""
