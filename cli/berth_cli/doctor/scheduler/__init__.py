"""The scheduler's configuration: where it is, how kube-scheduler reads it, which extenders call Berth."""
