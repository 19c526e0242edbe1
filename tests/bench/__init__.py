"""Benchmarks: ratios to a baseline measured in the same run. They assert nothing."""
