"""One module per subject. The checks evaluate data from the ports and yield findings, without other I/O."""
