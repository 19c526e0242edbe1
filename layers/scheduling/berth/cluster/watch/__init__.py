"""List and watch: delivers the events of several resources of the cluster to one consumer."""
