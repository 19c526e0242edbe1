"""The configuration in force, and a second one beside it."""
