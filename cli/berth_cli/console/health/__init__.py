"""Whether the verbs can decide: the node cache, its leader, and the reservations."""
