"""The command line and its output, shared by all commands."""
