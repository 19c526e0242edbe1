"""The faults of a round. Entering a fault causes it and leaving ends it; the workload continues."""
