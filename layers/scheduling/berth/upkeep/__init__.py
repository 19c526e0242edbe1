"""Which store counts the cluster's resources: a Lease in the cluster names it."""
