"""The `berth` command line: one package for each command; main.py lists the commands."""
