"""Checks that `make image` runs after the build: the image as a cluster runs it, with a read-only root."""
