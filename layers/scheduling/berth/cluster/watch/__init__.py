"""List and watch: what happens in the cluster, as values, from several resources to one consumer."""
