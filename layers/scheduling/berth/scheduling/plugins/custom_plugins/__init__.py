"""Plugins of the user's own: how they are found, and what is checked while they run."""
