"""A run of the watcher function, put together."""
