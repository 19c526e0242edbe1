"""Leader election as in client-go, by conditional writes of one item: the head of the node cache."""
