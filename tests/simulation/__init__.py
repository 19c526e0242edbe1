"""Protocols in virtual time, with the real code and all kinds of faults: cache, binds, reservations, gangs, wake-ups.

Each seed is a history. `python -m tests.simulation node-cache --seed N` repeats a history, `--histories N` runs many.
"""
