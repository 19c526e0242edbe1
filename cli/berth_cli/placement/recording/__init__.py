"""Records the verbs' decisions with their states, and repeats them."""
