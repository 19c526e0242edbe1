"""Benchmarks: ratios to a baseline that is measured in the same run. They do not assert anything."""
