"""The facts of the extender contract that depend on the version of kube-scheduler, measured on each version."""
