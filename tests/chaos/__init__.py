"""Faults on a real control plane, one per round, each followed by the same checks."""
