"""The watcher function, which assembles and executes its runs."""
