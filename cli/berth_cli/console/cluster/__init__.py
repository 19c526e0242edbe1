"""Where the console gets the cluster from."""
