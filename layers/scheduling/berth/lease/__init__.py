"""Leader election with the semantics of client-go's, on conditional writes of one item: the head of the node cache."""
