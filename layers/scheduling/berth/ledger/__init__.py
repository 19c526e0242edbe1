"""The ledger of counted resources: the reservations on each node, their pods, and the amounts that are left."""
