"""`berth watch`: the watcher of a stack as a process."""
