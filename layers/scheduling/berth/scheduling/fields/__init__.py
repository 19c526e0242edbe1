"""Fields of API objects, and their parsers: quantities, selectors, affinity, taints, requests."""
