"""Counts resources: the demands of pods, the capacities of nodes and floating pools, and the choice of devices."""
