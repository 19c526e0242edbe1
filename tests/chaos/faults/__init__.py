"""What goes wrong in a round. Entering a fault does it, leaving it ends it; the workload goes on all the time."""
