"""How bind places a gang: the barrier, one call of a member, what the call holds, and how it waits for its turn."""
