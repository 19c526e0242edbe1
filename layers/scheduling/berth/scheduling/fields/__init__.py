"""Fields of API objects: quantities, selectors, affinity, taints, requests. Each module has `read_…` functions."""
