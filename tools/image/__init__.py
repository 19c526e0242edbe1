"""`make image`: builds a container image with the berth command."""
