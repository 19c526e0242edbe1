"""The requests of kube-scheduler: JSON, the pod, the nodes or their names."""
