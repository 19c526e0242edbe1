"""A module for each subject of checks. They take what the ports return and yield findings, without other I/O."""
