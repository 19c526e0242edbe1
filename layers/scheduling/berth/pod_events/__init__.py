"""Events on pods, for their owners and for administrators: what the watcher found wrong with a pod."""
