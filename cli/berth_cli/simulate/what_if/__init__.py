"""What if nodes came, nodes went or a workload had another size: a dump with these changes."""
