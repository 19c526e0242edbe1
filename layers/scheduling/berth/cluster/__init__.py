"""Where the state of the cluster comes from and where Bindings go: the Kubernetes API or a dump."""
