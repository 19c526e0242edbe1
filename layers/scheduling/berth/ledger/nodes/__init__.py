"""The ledger of counted resources: the amounts of each node, and the pods that hold them."""
