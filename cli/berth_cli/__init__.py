"""The `berth` command line. commands/ has one module for each command; main.py lists the commands."""
