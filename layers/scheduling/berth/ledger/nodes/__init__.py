"""The ledgers of counted resources: the amounts of each node or floating pool, and the pods that hold them."""
