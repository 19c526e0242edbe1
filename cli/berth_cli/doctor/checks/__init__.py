"""A module for each family of checks: from what was found outside to findings, without any I/O of its own."""
