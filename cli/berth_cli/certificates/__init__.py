"""`berth certificates`: a private certificate authority for a cluster, and its client certificates."""
