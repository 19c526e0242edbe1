"""The source of the cluster's state and the target of Bindings: the Kubernetes API or a dump."""
