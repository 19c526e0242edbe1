"""Record what the verbs decide on which state, and decide it again."""
