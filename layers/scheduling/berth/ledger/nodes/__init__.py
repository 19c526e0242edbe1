"""The ledger of counted resources: what each node has, and which pods hold it."""
