"""Fields of API objects: quantities, selectors, affinity, taints, requests. One module each, read by `read_…`."""
