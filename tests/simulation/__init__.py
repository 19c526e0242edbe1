"""The cache's protocol in virtual time: the real elector, watcher, writer and reader, and everything that can go wrong.

A seed is a history. `python -m tests.simulation --seed N` runs one again, `--histories N` many.
"""
