"""The node cache of the verbs: the published state of the cluster, its freshness and its configuration."""
