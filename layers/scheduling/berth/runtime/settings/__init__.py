"""Settings from a function's environment."""
