"""The command line and its output: what every command shares."""
