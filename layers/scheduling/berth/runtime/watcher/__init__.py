"""Assemble and execute runs of the watcher function."""
