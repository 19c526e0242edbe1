"""The ledger of counted resources: what of each node is reserved, for which pod, and what is left."""
