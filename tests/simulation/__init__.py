"""The cache's protocol in virtual time: the real elector, watcher, writer and reader under all kinds of faults.

Each seed is a history. `python -m tests.simulation --seed N` repeats one, `--histories N` runs many.
"""
