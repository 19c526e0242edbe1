"""Faults on a real control plane, one a round, each followed by the same checks."""
